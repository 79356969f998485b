#include "emulator/drop_plan.h"

#include <string.h>

void nl_drop_plan_numbers(struct nl_drop_plan *s, const uint64_t *at, uint32_t count)
{
	memcpy(s->at, at, count * sizeof(*at));
	s->count = count;
	s->next = 0;
	s->seen = 0;
}

void nl_drop_plan_moment(struct nl_drop_plan *s, uint64_t after_ns)
{
	s->timed = 1;
	s->after_ns = after_ns;
	s->first_ns = 0;
}

void nl_drop_plan_forget(struct nl_drop_plan *s)
{
	s->count = s->next = 0;
	s->timed = 0;
}

static int is_next_number(struct nl_drop_plan *s)
{
	if (s->next == s->count || ++s->seen != s->at[s->next])
		return 0;
	s->next++;
	return 1;
}

static int moment_has_come(struct nl_drop_plan *s, uint64_t now_ns)
{
	if (!s->timed)
		return 0;
	if (!s->first_ns)
		s->first_ns = now_ns;
	if (now_ns - s->first_ns < s->after_ns)
		return 0;
	s->timed = 0;
	return 1;
}

int nl_drop_plan_drops(struct nl_drop_plan *s, uint64_t now_ns)
{
	/* call both, so that a number counts whatever the moment decides */
	int numbered = is_next_number(s), timed = !numbered && moment_has_come(s, now_ns);

	if (numbered || timed)
		s->last_ns = now_ns;
	return numbered || timed;
}
