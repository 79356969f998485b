#include "base/clock_steps.h"

#include "base/clock.h"

#include <string.h>

enum { ATTEMPTS = 5, CLOSE_NS = 2000 }; /* three readings take far less, unless preempted */

void nl_clocks_read(struct nl_clocks *out)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		int64_t first = (int64_t)nl_clock_ns(CLOCK_MONOTONIC);
		int64_t real = (int64_t)nl_clock_ns(CLOCK_REALTIME);
		int64_t raw = (int64_t)nl_clock_ns(CLOCK_MONOTONIC_RAW);
		int64_t last = (int64_t)nl_clock_ns(CLOCK_MONOTONIC);
		uint64_t unsure_ns = (uint64_t)(last - first);

		if (i > 0 && unsure_ns >= out->unsure_ns)
			continue;
		out->realtime_ahead_ns = real - (first + (last - first) / 2);
		out->raw_behind_ns = first + (last - first) / 2 - raw;
		out->unsure_ns = unsure_ns;
		if (unsure_ns < CLOSE_NS)
			return;
	}
}

static int64_t magnitude_ns(int64_t n)
{
	return n < 0 ? -n : n;
}

int nl_clock_steps_follow(struct nl_clock_steps *s, const struct nl_clocks *now)
{
	int64_t change = now->realtime_ahead_ns - s->reference.realtime_ahead_ns;
	int64_t most_ns = NL_CLOCK_STEP_MIN_NS + (int64_t)(now->unsure_ns + s->reference.unsure_ns);
	int stepped = magnitude_ns(change) > most_ns;

	if (stepped) {
		s->steps++;
		if (magnitude_ns(change) > magnitude_ns(s->step_ns))
			s->step_ns = change;
	}
	if (stepped || now->unsure_ns < s->reference.unsure_ns)
		s->reference = *now;
	return stepped;
}

void nl_stamps_begin(struct nl_stamps *s)
{
	memset(s, 0, sizeof(*s));
	nl_clocks_read(&s->steps.reference);
}

uint64_t nl_stamp_ns(struct nl_stamps *s, const struct nl_clocks *clocks, uint64_t now_ns,
		     uint64_t realtime_ns)
{
	uint64_t t_ns = realtime_ns - (uint64_t)clocks->realtime_ahead_ns;

	if (nl_clock_steps_follow(&s->steps, clocks))
		s->unknown_until_ns = now_ns + NL_STAMPS_UNKNOWN_NS;
	if (now_ns < s->unknown_until_ns || clocks->unsure_ns > (uint64_t)NL_CLOCK_STEP_MIN_NS)
		return 0;
	return t_ns <= now_ns + clocks->unsure_ns ? t_ns : 0;
}
