/* clocks: detect steps and slew of the system clocks.
 *
 * CLOCK_REALTIME and CLOCK_MONOTONIC are slewed alike, so their difference changes only when the
 * clock is set. CLOCK_MONOTONIC_RAW is not slewed: the difference to it is the slew of
 * CLOCK_MONOTONIC, the clock of all measurements here. */
#ifndef NL_CLOCKS_H
#define NL_CLOCKS_H

#include "netlab.h"

#define NL_CLOCK_STEP_MIN_NS INT64_C(1000000) /* the smallest change that counts as a step */

/* Read all three clocks close together. */
void nl_clocks_read(struct nl_clocks *out);

struct nl_clock_steps {
	struct nl_clocks last;
	uint32_t steps;
	int64_t step_ns; /* the largest, in either direction */
};

/* Compare with the previous reading. Pure. */
void nl_clock_steps_follow(struct nl_clock_steps *s, const struct nl_clocks *now);

#endif
