/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Scalable TCP: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks",
 * ACM Computer Communication Review 33(2), 2003, section 3:
 *   each acknowledged segment: cwnd += 0.01;   a loss: cwnd -= cwnd / 8;
 * and as Reno as long as the window is not above the legacy window of 16 segments. */
#include "congestion/bpf/cc.h"

SEC("struct_ops/cc_ssthresh")
__u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 share = tp->snd_cwnd <= params.legacy_window_segments ? NL_CC_MILLION / 2
								     : params.decrease_millionths;

	return window_after_loss(tp->snd_cwnd, share);
}

SEC("struct_ops/cc_cong_avoid")
void BPF_PROG(cc_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct growth *g = cc_state(sk);

	if (!window_is_used(tp))
		return;
	acked = slow_start(tp, g, acked);
	if (!acked)
		return;
	if (tp->snd_cwnd <= params.legacy_window_segments)
		grow(tp, g, acked, NL_CC_MILLION, tp->snd_cwnd);
	else
		grow(tp, g, acked, params.increase_millionths, 1);
}

NL_CC_DEFINE();
