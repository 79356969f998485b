/* script: packets that are dropped because someone said which, each exactly once.
 *
 * Only packets that carry data count. Two scripts run side by side: numbers, counted from
 * when they were given, and a moment, which is so long after the first data packet that
 * follows it being given: then a run that starts late has its loss late as well. A new
 * script of a kind takes the place of the old one. Free of clocks; one thread at a time. */
#ifndef NL_DROP_PLAN_H
#define NL_DROP_PLAN_H

#include <stdint.h>

enum { NL_DROP_PLAN_MAX = 16 };

struct nl_drop_plan {
	uint64_t at[NL_DROP_PLAN_MAX]; /* ascending, from 1 */
	uint32_t count, next;
	uint64_t seen;
	int timed;         /* a moment was given and has not come */
	uint64_t after_ns; /* since the first data packet */
	uint64_t first_ns; /* when that came; 0: not yet */
	uint64_t last_ns;  /* when a packet was dropped last; 0: none was */
};

/* Numbers at[0 .. count - 1], ascending from 1, count at most NL_DROP_PLAN_MAX. */
void nl_drop_plan_numbers(struct nl_drop_plan *s, const uint64_t *at, uint32_t count);
void nl_drop_plan_moment(struct nl_drop_plan *s, uint64_t after_ns);

/* No packet is dropped that was not yet. */
void nl_drop_plan_forget(struct nl_drop_plan *s);

/* A data packet arrives: whether it is dropped. */
int nl_drop_plan_drops(struct nl_drop_plan *s, uint64_t now_ns);

#endif
