/* clocks: whether time itself was tampered with meanwhile.
 *
 * CLOCK_REALTIME and CLOCK_MONOTONIC are slewed alike, so their difference changes only when
 * somebody sets the clock. CLOCK_MONOTONIC_RAW is not slewed: it shows how far the rate of
 * CLOCK_MONOTONIC, in which everything here is measured, was bent. */
#ifndef NL_CLOCKS_H
#define NL_CLOCKS_H

#include "netlab.h"

#define NL_CLOCK_STEP_MIN_NS INT64_C(1000000) /* a smaller change is not called a step */

/* Read all three close together. */
void nl_clocks_read(struct nl_clocks *out);

struct nl_clock_steps {
	struct nl_clocks last;
	uint32_t steps;
	int64_t step_ns; /* the largest, forward or back */
};

/* Pure: two readings, one after the other. */
void nl_clock_steps_follow(struct nl_clock_steps *s, const struct nl_clocks *now);

#endif
