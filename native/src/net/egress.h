/* egress: properties of the egress interface that determine batch sizes. */
#ifndef NL_EGRESS_H
#define NL_EGRESS_H

#include <net/if.h>
#include <stdint.h>

enum { NL_EGRESS_LARGE_B = 64 << 10 };

struct nl_egress {
	uint64_t packet_B; /* as TCP passes them down; NL_EGRESS_LARGE_B: segmented later */
	uint64_t queues;   /* transmit queues: as many CPUs can send without contention */
};

/* Copy the name of the interface that has the local address of a connection to that address, bound
 * to from unless it is empty; an empty name if there is none. */
void nl_egress_name(const char *to, const char *from, char name[IFNAMSIZ]);

/* Unknown properties default to segmentation offload and one queue, as on most devices. */
struct nl_egress nl_egress_of(const char *interface);

#endif
