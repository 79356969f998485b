/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* AIMD(a, b): Reno (RFC 5681, section 3.1) with other constants:
 *
 * per round trip: cwnd += a; per loss: cwnd -= b * cwnd.
 *
 * a = 1 and b = 1/2 is Reno itself; wad.conf called them wadai and wadmd. */
#include "congestion/bpf/cc.h"

SEC("struct_ops/cc_ssthresh")
__u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;

	return window_after_loss(tp->snd_cwnd, params.decrease_millionths);
}

SEC("struct_ops/cc_cong_avoid")
void BPF_PROG(cc_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct growth *g = cc_state(sk);

	if (!window_is_used(tp))
		return;
	acked = slow_start(tp, g, acked);
	if (acked)
		grow(tp, g, acked, params.increase_millionths, tp->snd_cwnd);
}

NL_CC_DEFINE();
