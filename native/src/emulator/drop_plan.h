/* drop_plan: forced drops of chosen packets, each exactly once.
 *
 * Only packets with data count. Two plans run side by side: numbers, counted from the request, and
 * a moment, relative to the first data packet after the request, so that a late run has its loss
 * late as well. A new plan replaces the old one of its kind. Clock-free; one thread at a time. */
#pragma once

#include <stdint.h>

enum { NL_DROP_PLAN_MAX = 16 };

struct nl_drop_plan {
	uint64_t at[NL_DROP_PLAN_MAX]; /* ascending, from 1 */
	uint32_t count, next;
	uint64_t seen;
	int timed;         /* a moment is set and has not passed */
	uint64_t after_ns; /* since the first data packet */
	uint64_t first_ns; /* time of that packet; 0: not yet */
	uint64_t last_ns;  /* time of the last drop; 0: none */
};

/* Drop the packets at[0 .. count - 1], ascending from 1, count at most NL_DROP_PLAN_MAX. */
void nl_drop_plan_numbers(struct nl_drop_plan *s, const uint64_t *at, uint32_t count);
void nl_drop_plan_moment(struct nl_drop_plan *s, uint64_t after_ns);

/* Cancel both plans. */
void nl_drop_plan_forget(struct nl_drop_plan *s);

/* True if the data packet that arrives now is to be dropped. */
int nl_drop_plan_drops(struct nl_drop_plan *s, uint64_t now_ns);
