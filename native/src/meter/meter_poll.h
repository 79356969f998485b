/* meter_poll: read an interface's counters and the clocks periodically between two snapshots, to
 * detect wraps, resets and clock steps. One thread at a time. */
#ifndef NL_METER_POLL_H
#define NL_METER_POLL_H

#include "meter/clocks.h"
#include "meter/counters.h"

enum { NL_METER_POLL_MS = 250 }; /* 32-bit byte counters wrap in 859 ms at 40 Gb/s */

struct nl_meter_poll {
	char interface[NL_NAME_MAX]; /* empty: clocks only */
	struct nl_counters counters;
	struct nl_clock_steps steps;
};

/* Start from the first snapshot. */
void nl_meter_poll_begin(struct nl_meter_poll *meter_poll, const struct nl_meter *first);
void nl_meter_poll_read(struct nl_meter_poll *meter_poll);
/* Add a later snapshot, and write the findings so far into it. */
void nl_meter_poll_mark(struct nl_meter_poll *meter_poll, struct nl_meter *now);

#endif
