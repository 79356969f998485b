#include "meter/vigil.h"

#include "net/rtnl.h"

#include <errno.h>
#include <string.h>

void nl_vigil_begin(struct nl_vigil *vigil, const struct nl_meter *first)
{
	memset(vigil, 0, sizeof(*vigil));
	memcpy(vigil->interface, first->name, sizeof(vigil->interface));
	nl_counters_begin(&vigil->counters, first->ifindex, &first->interface);
	vigil->steps.last = first->clocks;
}

void nl_vigil_look(struct nl_vigil *vigil)
{
	struct nl_interface now = {0};
	struct nl_clocks clocks;
	int32_t ifindex = 0;
	int errnum;

	nl_clocks_read(&clocks);
	nl_clock_steps_follow(&vigil->steps, &clocks);
	if (!vigil->interface[0])
		return;
	errnum = nl_rtnl_interface(vigil->interface, &ifindex, &now);
	/* a look that failed for want of memory or the like says nothing of the interface */
	if (errnum == 0 || errnum == ENODEV)
		nl_counters_follow(&vigil->counters, ifindex, &now);
}

void nl_vigil_mark(struct nl_vigil *vigil, struct nl_meter *now)
{
	nl_clock_steps_follow(&vigil->steps, &now->clocks);
	now->clock_steps = vigil->steps.steps;
	now->clock_step_ns = vigil->steps.step_ns;
	if (!vigil->interface[0])
		return;
	nl_counters_follow(&vigil->counters, now->ifindex, &now->interface);
	now->interface = vigil->counters.steady;
	now->wraps = vigil->counters.wraps;
	now->resets = vigil->counters.resets;
}
