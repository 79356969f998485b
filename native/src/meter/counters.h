/* counters: make the counters of an interface monotonic.
 *
 * Some drivers count in 32 bits, which wrap at 2^32. A restarted driver counts from 0, as does an
 * interface created anew, under a new index. Two readings distinguish these: after a wrap, bytes
 * and packets of a direction still give a valid packet size. More than one wrap between two
 * readings is not detectable. Pure. */
#ifndef NL_COUNTERS_H
#define NL_COUNTERS_H

#include "netlab.h"

struct nl_counters {
	int32_t ifindex;            /* 0: the interface is gone */
	struct nl_interface last;   /* the last reading */
	struct nl_interface steady; /* the first reading plus all known growth */
	uint32_t wraps, resets;
};

void nl_counters_begin(struct nl_counters *c, int32_t ifindex, const struct nl_interface *now);

/* Add a reading. The growth around a reset is unknown and not added. */
void nl_counters_follow(struct nl_counters *c, int32_t ifindex, const struct nl_interface *now);

#endif
