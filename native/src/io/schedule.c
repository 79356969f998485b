#include "io/schedule.h"

#include "base/clock.h"

struct nl_schedule nl_schedule_of(double per_s, uint64_t ahead_ns)
{
	double per_ns = per_s / (double)NL_NS_PER_S;

	return (struct nl_schedule){.per_ns = per_ns, .ahead_ns = ahead_ns,
				    .most = (uint64_t)(per_ns * (double)(NL_CATCH_UP_NS + ahead_ns)) + 1};
}

uint64_t nl_schedule_turn(struct nl_schedule *s, uint64_t now)
{
	uint64_t planned_ns = (s->next_ns > s->turn_ns ? s->next_ns : s->turn_ns) + NL_STALL_NS;
	uint64_t step_ns = nl_sooner(now, planned_ns) - s->turn_ns, scheduled, skipped = 0;

	if (!s->begin_ns)
		s->begin_ns = now;
	scheduled = (uint64_t)((double)(now + s->ahead_ns - s->begin_ns) * s->per_ns) + 1;
	if (s->due)
		s->due += 1 + (uint64_t)((double)step_ns * s->per_ns * NL_CATCH_UP_PERCENT / 100);
	s->due = s->due ? nl_sooner(s->due, scheduled) : scheduled;
	if (scheduled - s->due > s->most)
		skipped = scheduled - s->due - s->most;
	s->due += skipped;
	s->late = scheduled - s->due;
	s->turn_ns = now;
	/* what the kernel paces is half sent by then */
	s->next_ns = s->begin_ns + (uint64_t)((double)scheduled / s->per_ns) - s->ahead_ns / 2;
	if (s->next_ns < now + NL_TURN_NS)
		s->next_ns = now + NL_TURN_NS;
	return skipped;
}
