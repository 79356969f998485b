/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* HighSpeed TCP: RFC 3649, section 5:
 *   a round trip: cwnd += a(cwnd);   a loss: cwnd -= b(cwnd) * cwnd.
 * a and b come as a table of rows that lie closer than the RFC's own (appendix B): the loader
 * computes it from the formulas, as there are no logarithms here. */
#include "congestion/bpf/cc.h"

/* The last row that begins at or below the window. */
static __always_inline __u32 row_of(__u32 window)
{
	__u32 row = 0;

#pragma clang loop unroll(full)
	for (__u32 step = NL_CC_HIGHSPEED_ROWS / 2; step; step /= 2)
		if (params.highspeed[(row + step) % NL_CC_HIGHSPEED_ROWS].window_segments <= window)
			row += step;
	return row % NL_CC_HIGHSPEED_ROWS;
}

SEC("struct_ops/cc_ssthresh")
__u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 window = tp->snd_cwnd;

	return window_after_loss(window, params.highspeed[row_of(window)].decrease_millionths);
}

SEC("struct_ops/cc_cong_avoid")
void BPF_PROG(cc_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct growth *g = cc_state(sk);
	__u32 window;

	if (!window_is_used(tp))
		return;
	acked = slow_start(tp, g, acked);
	if (!acked)
		return;
	window = tp->snd_cwnd;
	grow(tp, g, acked, params.highspeed[row_of(window)].increase_millionths, window);
}

NL_CC_DEFINE();
