/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* cc: code shared by the BPF congestion controls: kernel types, slow start, growth in fractions of
 * a segment, and the names that the loader looks up.
 *
 * The loader resolves offsets from the running kernel's BTF (CO-RE), so only the members in use are
 * declared. */
#pragma once

#include "congestion/cc_params.h"

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
};

struct inet_connection_sock {
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 snd_nxt;
	__u32 max_packets_out;
	__u8 is_cwnd_limited : 1;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	char name[16];
	__u32 flags;
};

#pragma clang attribute pop

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

enum {
	TCP_CONG_NON_RESTRICTED = 1, /* any user may choose it, unlisted */
	LEAST_WINDOW = 2,
};

const volatile struct nl_cc_params params SEC(".rodata.params") = {};

/* The kernel accepts struct_ops only from GPL-compatible programs. */
char cc_license[] SEC("license") = "GPL";

/* Growth of a connection not yet applied, in millionths of a segment. */
struct growth {
	__u64 credit;
};

static __always_inline void *cc_state(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* RFC 7661, simplified: a window that was not used does not grow. In slow start half of it in
 * flight is enough, as it doubles within the round trip. */
static __always_inline bool window_is_used(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Add acked * millionths / divisor millionths of a segment. */
static __always_inline void grow(struct tcp_sock *tp, struct growth *g, __u32 acked,
				 __u32 millionths, __u32 divisor)
{
	__u64 whole = (__u64)divisor * NL_CC_MILLION;
	__u64 credit = g->credit + (__u64)acked * millionths;
	__u64 segments = whole ? credit / whole : 0;
	__u64 window = tp->snd_cwnd + segments;

	g->credit = credit - segments * whole;
	if (window > tp->snd_cwnd_clamp)
		window = tp->snd_cwnd_clamp;
	if (segments)
		tp->snd_cwnd = window;
}

/* Slow start, limited above max_ssthresh as RFC 3742, section 2 says: K = int(cwnd /
 * (max_ssthresh / 2)) and each acknowledged segment adds 1 / K, so a round trip adds at most
 * max_ssthresh / 2. Returns the acknowledged segments that are left for avoidance. */
static __always_inline __u32 slow_start(struct tcp_sock *tp, struct growth *g, __u32 acked)
{
	__u32 window = tp->snd_cwnd;
	__u32 limit = params.max_ssthresh_segments;

	if (window >= tp->snd_ssthresh)
		return acked;
	if (!limit || window <= limit)
		return tcp_slow_start(tp, acked);
	grow(tp, g, acked, NL_CC_MILLION, 2 * window / limit);
	return 0;
}

/* The window after a loss that costs this share of it. */
static __always_inline __u32 window_after_loss(__u32 window, __u32 share_millionths)
{
	__u64 left = (__u64)window * (NL_CC_MILLION - share_millionths) / NL_CC_MILLION;

	return left > LEAST_WINDOW ? left : LEAST_WINDOW;
}

SEC("struct_ops/cc_init")
void BPF_PROG(cc_init, struct sock *sk)
{
	__u64 *state = cc_state(sk);

#pragma clang loop unroll(full)
	for (int i = 0; i < 6; i++)
		state[i] = 0;
}

SEC("struct_ops/cc_undo_cwnd")
__u32 BPF_PROG(cc_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

#define NL_CC_DEFINE(...)                                   \
	SEC(".struct_ops")                               \
	struct tcp_congestion_ops cc = {                \
		.init = (void *)cc_init,                \
		.ssthresh = (void *)cc_ssthresh,        \
		.cong_avoid = (void *)cc_cong_avoid,    \
		.undo_cwnd = (void *)cc_undo_cwnd,      \
		.name = NL_CC_NAME_PLACE,                \
		.flags = TCP_CONG_NON_RESTRICTED,        \
		__VA_ARGS__                              \
	}
