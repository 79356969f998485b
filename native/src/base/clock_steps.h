/* clock_steps: CLOCK_REALTIME against CLOCK_MONOTONIC, and the kernel's time stamps in the latter.
 *
 * Both clocks are slewed alike, so their difference changes only when CLOCK_REALTIME is set.
 * CLOCK_MONOTONIC_RAW is not slewed: the difference to it is the slew of CLOCK_MONOTONIC, the clock
 * of all measurements here. */
#pragma once

#include "netlab.h"

#define NL_CLOCK_STEP_MIN_NS INT64_C(1000000) /* the smallest change that counts as a step */

/* Read all three clocks close together. */
void nl_clocks_read(struct nl_clocks *out);

struct nl_clock_steps {
	/* The most certain reading since the last step: one by a preempted thread hides no step, and
	 * small ones add up. */
	struct nl_clocks reference;
	uint32_t steps;
	int64_t step_ns; /* the largest, in either direction */
};

/* Compare with the reference. 1 if the clock was set. Pure. */
int nl_clock_steps_follow(struct nl_clock_steps *s, const struct nl_clocks *now);

/* The kernel stamps packets with CLOCK_REALTIME as they arrive. Those that wait while the clock is
 * set are read later, and have another error than those that follow: for NL_STAMPS_UNKNOWN_NS
 * after a step has been noticed no stamp is used. */
#define NL_STAMPS_UNKNOWN_NS UINT64_C(1000000000)

struct nl_stamps {
	struct nl_clock_steps steps;
	uint64_t unknown_until_ns;
};

void nl_stamps_begin(struct nl_stamps *s);

/* The time of CLOCK_MONOTONIC of a stamp that was read before the clocks and now_ns; 0 if it is not
 * known. Pure. */
uint64_t nl_stamp_ns(struct nl_stamps *s, const struct nl_clocks *clocks, uint64_t now_ns,
		     uint64_t realtime_ns);
