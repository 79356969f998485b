#include "emulator/wake_comp.h"

#include "base/clock.h"

#include <string.h>

void nl_wake_comp_init(struct nl_wake_comp *comp)
{
	memset(comp, 0, sizeof(*comp));
	comp->most_ns = NL_WAKE_COMP_WAKE_MAX_NS;
}

uint64_t nl_wake_comp_begin(struct nl_wake_comp *comp, uint64_t now_ns, uint64_t due_ns,
			    uint64_t poll_ns)
{
	uint64_t early_ns = poll_ns < due_ns ? 0 : comp->most_ns;
	uint64_t end_ns = nl_sooner(due_ns, poll_ns), wait_ns = end_ns > now_ns ? end_ns - now_ns : 0;

	comp->begun_ns = now_ns;
	comp->until_ns = 0;
	if (wait_ns > NL_WAKE_COMP_LONG_NS + early_ns) {
		comp->until_ns = end_ns - early_ns;
		comp->due_ns = due_ns;
		return wait_ns - early_ns;
	}
	return end_ns == comp->due_ns ? 0 : wait_ns;
}

/* Move a fraction of the way from one value to the other. */
static uint64_t step_towards(uint64_t from, uint64_t to, uint64_t share)
{
	return to > from ? from + (to - from) / share : from - (from - to) / share;
}

void nl_wake_comp_end(struct nl_wake_comp *comp, uint64_t now_ns)
{
	uint64_t late_ns;

	if (!comp->until_ns || now_ns < comp->until_ns)
		return;
	late_ns = nl_sooner(now_ns - comp->until_ns, NL_WAKE_COMP_WAKE_MAX_NS);
	/* fast up and slowly down: close to the usual maximum */
	comp->most_ns = step_towards(comp->most_ns, late_ns, late_ns > comp->most_ns ? 4 : 16);
	comp->mean_ns = step_towards(comp->mean_ns, late_ns, 8);
}

uint64_t nl_wake_comp_ended_by_ns(const struct nl_wake_comp *comp, uint64_t now_ns)
{
	if (now_ns - comp->begun_ns < NL_WAKE_COMP_LONG_NS + comp->mean_ns)
		return now_ns;
	return now_ns - comp->mean_ns;
}

uint64_t nl_wake_comp_found_by_ns(uint64_t before_ns, uint64_t after_ns)
{
	return after_ns - before_ns < NL_WAKE_COMP_STEP_NS ? before_ns : after_ns;
}
