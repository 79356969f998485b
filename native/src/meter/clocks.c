#include "meter/clocks.h"

#include "base/clock.h"

#include <time.h>

enum { ATTEMPTS = 5, CLOSE_NS = 2000 }; /* three readings take far less, unless preempted */

static int64_t read_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * (int64_t)NL_NS_PER_S + t.tv_nsec;
}

void nl_clocks_read(struct nl_clocks *out)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		int64_t first = read_ns(CLOCK_MONOTONIC);
		int64_t real = read_ns(CLOCK_REALTIME);
		int64_t raw = read_ns(CLOCK_MONOTONIC_RAW);
		int64_t last = read_ns(CLOCK_MONOTONIC);
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

static int64_t magnitude(int64_t n)
{
	return n < 0 ? -n : n;
}

void nl_clock_steps_follow(struct nl_clock_steps *s, const struct nl_clocks *now)
{
	int64_t change = now->realtime_ahead_ns - s->last.realtime_ahead_ns;

	if (magnitude(change) > NL_CLOCK_STEP_MIN_NS + (int64_t)(now->unsure_ns + s->last.unsure_ns)) {
		s->steps++;
		if (magnitude(change) > magnitude(s->step_ns))
			s->step_ns = change;
	}
	s->last = *now;
}
