/* vigil: looks at an interface's counters and the clocks every now and then between two
 * snapshots, so that what happens to them in between is seen. One thread at a time. */
#ifndef NL_VIGIL_H
#define NL_VIGIL_H

#include "meter/clocks.h"
#include "meter/counters.h"

enum { NL_VIGIL_MS = 250 }; /* 32 bits of bytes wrap in 859 ms at 40 Gb/s */

struct nl_vigil {
	char interface[NL_NAME_MAX]; /* empty: the clocks alone */
	struct nl_counters counters;
	struct nl_clock_steps steps;
};

/* From the first snapshot on. */
void nl_vigil_begin(struct nl_vigil *vigil, const struct nl_meter *first);
void nl_vigil_look(struct nl_vigil *vigil);
/* A later snapshot: it counts as a look, and then says what the vigil has seen so far. */
void nl_vigil_mark(struct nl_vigil *vigil, struct nl_meter *now);

#endif
