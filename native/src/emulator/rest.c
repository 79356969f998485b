#include "emulator/rest.h"

#include <string.h>

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void nl_rest_init(struct nl_rest *rest)
{
	memset(rest, 0, sizeof(*rest));
	rest->most_ns = NL_REST_WAKE_MAX_NS;
}

uint64_t nl_rest_begin(struct nl_rest *rest, uint64_t now_ns, uint64_t due_ns, uint64_t look_ns)
{
	uint64_t early_ns = look_ns < due_ns ? 0 : rest->most_ns;
	uint64_t end_ns = least(due_ns, look_ns), wait_ns = end_ns > now_ns ? end_ns - now_ns : 0;

	rest->begun_ns = now_ns;
	rest->until_ns = 0;
	if (wait_ns > NL_REST_LONG_NS + early_ns) {
		rest->until_ns = end_ns - early_ns;
		rest->due_ns = due_ns;
		return wait_ns - early_ns;
	}
	return end_ns == rest->due_ns ? 0 : wait_ns;
}

/* A share of the way from one to the other. */
static uint64_t towards(uint64_t from, uint64_t to, uint64_t share)
{
	return to > from ? from + (to - from) / share : from - (from - to) / share;
}

void nl_rest_end(struct nl_rest *rest, uint64_t now_ns)
{
	uint64_t late_ns;

	if (!rest->until_ns || now_ns < rest->until_ns)
		return;
	late_ns = least(now_ns - rest->until_ns, NL_REST_WAKE_MAX_NS);
	/* fast up and slowly down: close to the longest that is usual */
	rest->most_ns = towards(rest->most_ns, late_ns, late_ns > rest->most_ns ? 4 : 16);
	rest->mean_ns = towards(rest->mean_ns, late_ns, 8);
}

uint64_t nl_rest_ended_by_ns(const struct nl_rest *rest, uint64_t now_ns)
{
	if (now_ns - rest->begun_ns < NL_REST_LONG_NS + rest->mean_ns)
		return now_ns;
	return now_ns - rest->mean_ns;
}

uint64_t nl_rest_found_by_ns(uint64_t before_ns, uint64_t after_ns)
{
	return after_ns - before_ns < NL_REST_TURN_NS ? before_ns : after_ns;
}
