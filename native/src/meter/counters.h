/* counters: an interface's counters made to grow only, however the kernel's behave.
 *
 * Some drivers keep 32 bits, which wrap at 2^32; a driver that starts again goes back to 0, and
 * an interface that is made anew counts from 0 under a new number. One look after the other
 * tells them apart: over a wrap, bytes and packets of one direction still fit together, as
 * packets of a size that can be. More than one wrap between two looks cannot be seen. Pure. */
#ifndef NL_COUNTERS_H
#define NL_COUNTERS_H

#include "netlab.h"

struct nl_counters {
	int32_t ifindex;            /* 0: gone */
	struct nl_interface last;   /* as they were read */
	struct nl_interface steady; /* the first reading, and all growth since that is known */
	uint32_t wraps, resets;
};

void nl_counters_begin(struct nl_counters *c, int32_t ifindex, const struct nl_interface *now);

/* The next reading. What grew around a reset is not known and not added. */
void nl_counters_follow(struct nl_counters *c, int32_t ifindex, const struct nl_interface *now);

#endif
