#include "io/udp_nap.h"

#include "base/clock.h"

enum {
	PART_OF_BUFFER = 8,
	PACKET_B = 768, /* of a receive buffer, beside twice the payload: the kernel's own of a packet */
	SLEEP_MIN_NS = 50 * 1000,
	SLEEP_MAX_NS = 400 * 1000,
	DENSE_NS = 200 * 1000, /* between two turns with joined messages */
};

void nl_udp_nap_begin(struct nl_udp_nap *nap, uint64_t rcvbuf_B, int joined)
{
	uint64_t part_B = rcvbuf_B / PART_OF_BUFFER; /* and ns, at 1 GB/s */

	*nap = (struct nl_udp_nap){.much_B = part_B, .joined = joined,
				   .sleep_ns = nl_sooner(part_B < SLEEP_MIN_NS ? SLEEP_MIN_NS : part_B,
							 SLEEP_MAX_NS)};
}

void nl_udp_nap_turn(struct nl_udp_nap *nap, uint64_t now_ns, int something, int much)
{
	int dense = !nap->joined || now_ns < nap->turn_ns + DENSE_NS;

	nap->due = something && !much && dense;
	if (something)
		nap->turn_ns = now_ns;
}

uint64_t nl_udp_buffered_B(uint64_t payload_B)
{
	return 2 * payload_B + PACKET_B;
}
