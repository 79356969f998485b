/* udp_nap: when a sink of datagrams sleeps, so that not each of them wakes it.
 *
 * It sleeps after a turn that read something, and not much. While it sleeps the receive buffer fills: a sleep
 * lasts as long as an eighth of it does at 1 GB/s, 50 to 400 us. A sink whose datagrams the kernel joins stays
 * awake instead while messages are dense: its processor may take ms to come back from an idle state, and joined
 * messages fill the buffer in one. Pure. */
#pragma once

#include <stdint.h>

enum { NL_UDP_AWAKE_NS = 1000 * 1000 }; /* without a message, before a sink that stays awake sleeps */

struct nl_udp_nap {
	uint64_t much_B; /* of a receive buffer in a turn; no sleep after as much */
	uint64_t sleep_ns;
	uint64_t turn_ns; /* the last turn with something */
	int joined;       /* the kernel joins datagrams */
	int due;          /* before the next turn */
};

void nl_udp_nap_begin(struct nl_udp_nap *nap, uint64_t rcvbuf_B, int joined);

/* After a turn at now_ns that read something, or not; much: more than much_B of a stream. */
void nl_udp_nap_turn(struct nl_udp_nap *nap, uint64_t now_ns, int something, int much);

/* What a message of payload_B takes of a receive buffer. */
uint64_t nl_udp_buffered_B(uint64_t payload_B);
