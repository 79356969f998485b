/* egress: what of an interface decides how it is best sent into. */
#ifndef NL_EGRESS_H
#define NL_EGRESS_H

#include <stdint.h>

enum { NL_EGRESS_LARGE_B = 64 << 10 };

struct nl_egress {
	uint64_t packet_B; /* of the packets that TCP hands over; NL_EGRESS_LARGE_B: many segments each */
	uint64_t queues;   /* transmit queues: so many processors need not wait for each other */
};

/* What cannot be told is as on most devices, packets of many segments, and one queue. */
struct nl_egress nl_egress_of(const char *interface);

#endif
