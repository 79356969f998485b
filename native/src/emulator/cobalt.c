#include "emulator/cobalt.h"

#include "emulator/control_law.h"

#define PROBABILITY_UP (UINT32_C(1) << 24)
#define PROBABILITY_DOWN (UINT32_C(1) << 20)

static int is_due(const struct nl_cobalt *c, uint64_t now_ns)
{
	return c->count && now_ns >= c->next_ns;
}

static void count_down(struct nl_cobalt *c, const struct nl_cobalt_times *times)
{
	c->count--;
	c->next_ns += nl_control_law_ns(times->interval_ns, c->count);
}

int nl_cobalt_drops(struct nl_cobalt *c, const struct nl_cobalt_times *times, uint64_t now_ns, int ecn,
		    struct nl_aqm_packet *packet, struct nl_prng *random)
{
	uint64_t waited_ns = now_ns - packet->arrived_ns;
	int above = waited_ns > times->target_ns && waited_ns > 4 * times->packet_ns;
	int due = is_due(c, now_ns), late = now_ns > c->next_ns, drops = 0;

	if (above && !c->above)
		c->next_ns = now_ns + nl_control_law_ns(times->interval_ns, c->count);
	if (above && !c->count)
		c->count = 1;
	c->above = above;
	if (due && above) {
		packet->marked = ecn && packet->takes_marks;
		drops = !packet->marked;
		if (c->count < UINT32_MAX)
			c->count++;
		c->next_ns += nl_control_law_ns(times->interval_ns, c->count);
		late = now_ns > c->next_ns;
	}
	for (; due && !above; due = is_due(c, now_ns)) {
		count_down(c, times);
		late = now_ns > c->next_ns;
	}
	if (c->probability)
		drops |= nl_prng_u64(random) >> 32 < c->probability;
	/* without a count the time is that of rest; signals that were missed are not made up for */
	if (!c->count)
		c->next_ns = now_ns + times->interval_ns;
	else if (late && !drops)
		c->next_ns = now_ns;
	return drops;
}

void nl_cobalt_overflow(struct nl_cobalt *c, const struct nl_cobalt_times *times, uint64_t now_ns)
{
	if (now_ns > c->blue_ns + times->target_ns) {
		c->probability = c->probability < UINT32_MAX - PROBABILITY_UP ? c->probability + PROBABILITY_UP
										: UINT32_MAX;
		c->blue_ns = now_ns;
	}
	c->above = 1;
	c->next_ns = now_ns;
	if (!c->count)
		c->count = 1;
}

void nl_cobalt_empty(struct nl_cobalt *c, const struct nl_cobalt_times *times, uint64_t now_ns)
{
	if (c->probability && now_ns > c->blue_ns + times->target_ns) {
		c->probability -= c->probability < PROBABILITY_DOWN ? c->probability : PROBABILITY_DOWN;
		c->blue_ns = now_ns;
	}
	c->above = 0;
	if (is_due(c, now_ns))
		count_down(c, times);
}

int nl_cobalt_rests(const struct nl_cobalt *c, uint64_t now_ns)
{
	return !c->probability && !c->count && now_ns >= c->next_ns;
}
