/* meter_poll: read an interface's counters and the clocks periodically between two snapshots, to
 * detect wraps, resets and clock steps. One thread at a time. */
#pragma once

#include "base/clock_steps.h"

/* -- counters ----------------------------------------------------------------------- */

/* Some drivers count in 32 bits, which wrap at 2^32. A restarted driver counts from 0, as does an
 * interface created anew, under a new index. Two readings distinguish these: after a wrap, bytes
 * and packets of a direction still give a valid packet size. More than one wrap between two
 * readings is not detectable. Pure. */

struct nl_counters {
	int32_t ifindex;            /* 0: the interface is gone */
	struct nl_interface last;   /* the last reading */
	struct nl_interface steady; /* the first reading plus all known growth */
	uint32_t wraps, resets;
};

void nl_counters_begin(struct nl_counters *c, int32_t ifindex, const struct nl_interface *now);

/* Add a reading. The growth around a reset is unknown and not added. */
void nl_counters_follow(struct nl_counters *c, int32_t ifindex, const struct nl_interface *now);

/* -- between two snapshots ---------------------------------------------------------- */

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
