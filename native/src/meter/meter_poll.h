/* meter_poll: looks at an interface's counters and the clocks every now and then between two
 * snapshots, so that what happens to them in between is seen. One thread at a time. */
#ifndef NL_METER_POLL_H
#define NL_METER_POLL_H

#include "meter/clocks.h"
#include "meter/counters.h"

enum { NL_METER_POLL_MS = 250 }; /* 32 bits of bytes wrap in 859 ms at 40 Gb/s */

struct nl_meter_poll {
	char interface[NL_NAME_MAX]; /* empty: the clocks alone */
	struct nl_counters counters;
	struct nl_clock_steps steps;
};

/* From the first snapshot on. */
void nl_meter_poll_begin(struct nl_meter_poll *meter_poll, const struct nl_meter *first);
void nl_meter_poll_read(struct nl_meter_poll *meter_poll);
/* A later snapshot: it counts as a look, and then says what the meter_poll has seen so far. */
void nl_meter_poll_mark(struct nl_meter_poll *meter_poll, struct nl_meter *now);

#endif
