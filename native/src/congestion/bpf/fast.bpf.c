/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* FAST TCP: D. X. Wei, C. Jin, S. H. Low, S. Hegde, "FAST TCP: Motivation, Architecture,
 * Algorithms, Performance", IEEE/ACM Transactions on Networking 14(6), 2006, section IV:
 *   each round trip: w = min(2 w, (1 - gamma) w + gamma (baseRTT / RTT * w + alpha)),
 * where RTT is the average that each sample enters with the weight min(3 / w, 1 / 4), and baseRTT
 * the least that was seen. The window is in equilibrium with alpha packets queued. A loss halves it.
 * Slow start is left when the queue is estimated at alpha packets. */
#include "congestion/bpf/cc.h"

enum { FRACTION_BITS = 10 };

struct fast {
	struct growth growth;
	__u64 rtt_fraction_us; /* the average, << FRACTION_BITS */
	__u32 base_rtt_us;     /* 0: no sample yet */
	__u32 round_end;       /* sequence number */
	__u32 target;          /* the window at the end of this round */
};

SEC("struct_ops/cc_pkts_acked")
void BPF_PROG(cc_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct fast *f = cc_state(sk);
	__s32 rtt_us = sample->rtt_us;
	__u64 rtt, weight, whole = tp->snd_cwnd;

	if (rtt_us <= 0)
		return;
	rtt = (__u64)rtt_us << FRACTION_BITS;
	if (!f->base_rtt_us || (__u32)rtt_us < f->base_rtt_us)
		f->base_rtt_us = rtt_us;
	if (!f->rtt_fraction_us) {
		f->rtt_fraction_us = rtt;
		return;
	}
	/* One sample covers all segments of an acknowledgement. */
	weight = 3 * (__u64)sample->pkts_acked;
	if (4 * weight > whole) {
		weight = 1;
		whole = 4;
	}
	if (rtt > f->rtt_fraction_us)
		f->rtt_fraction_us += (rtt - f->rtt_fraction_us) * weight / whole;
	else
		f->rtt_fraction_us -= (f->rtt_fraction_us - rtt) * weight / whole;
}

/* Packets of the window that fit into the path unqueued: w * baseRTT / RTT, in millionths. */
static __always_inline __u64 in_path_millionths(const struct fast *f, __u32 window)
{
	__u64 base = (__u64)f->base_rtt_us << FRACTION_BITS;
	__u64 rtt = f->rtt_fraction_us;

	/* Divide first: window * base * 10^6 may overflow. */
	return rtt ? base * NL_CC_MILLION / rtt * window : (__u64)window * NL_CC_MILLION;
}

static __always_inline __u32 next_window(const struct fast *f, __u32 window)
{
	__u64 gamma = params.gamma_millionths;
	__u64 wanted = in_path_millionths(f, window) + (__u64)params.alpha_packets * NL_CC_MILLION;
	__u64 next = (NL_CC_MILLION - gamma) * window + wanted / 1000 * gamma / 1000;

	next = (next + NL_CC_MILLION / 2) / NL_CC_MILLION;
	if (next > 2 * (__u64)window)
		next = 2 * (__u64)window;
	return next > LEAST_WINDOW ? next : LEAST_WINDOW;
}

SEC("struct_ops/cc_ssthresh")
__u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct fast *f = cc_state(sk);

	/* Discard a target from before the loss. */
	f->target = 0;
	f->round_end = tp->snd_nxt;
	return window_after_loss(tp->snd_cwnd, NL_CC_MILLION / 2);
}

SEC("struct_ops/cc_cong_avoid")
void BPF_PROG(cc_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct fast *f = cc_state(sk);
	__u32 window = tp->snd_cwnd;
	bool used = window_is_used(tp);

	if (window < tp->snd_ssthresh) {
		__u64 queued = (__u64)window * NL_CC_MILLION - in_path_millionths(f, window);

		if (queued < (__u64)params.alpha_packets * NL_CC_MILLION) {
			if (used)
				slow_start(tp, &f->growth, acked);
			f->round_end = tp->snd_nxt;
			return;
		}
		tp->snd_ssthresh = window;
	}
	if ((__s32)(ack - f->round_end) > 0) {
		f->round_end = tp->snd_nxt;
		f->target = next_window(f, window);
		if (f->target < window)
			tp->snd_cwnd = f->target;
	}
	if (used && window < f->target) {
		window += acked;
		if (window > f->target)
			window = f->target;
		if (window > tp->snd_cwnd_clamp)
			window = tp->snd_cwnd_clamp;
		tp->snd_cwnd = window;
	}
}

NL_CC_DEFINE(.pkts_acked = (void *)cc_pkts_acked);
