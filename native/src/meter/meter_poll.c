#include "meter/meter_poll.h"

#include "net/rtnl.h"

#include <errno.h>
#include <string.h>

void nl_meter_poll_begin(struct nl_meter_poll *meter_poll, const struct nl_meter *first)
{
	memset(meter_poll, 0, sizeof(*meter_poll));
	memcpy(meter_poll->interface, first->name, sizeof(meter_poll->interface));
	nl_counters_begin(&meter_poll->counters, first->ifindex, &first->interface);
	meter_poll->steps.last = first->clocks;
}

void nl_meter_poll_read(struct nl_meter_poll *meter_poll)
{
	struct nl_interface now = {0};
	struct nl_clocks clocks;
	int32_t ifindex = 0;
	int errnum;

	nl_clocks_read(&clocks);
	nl_clock_steps_follow(&meter_poll->steps, &clocks);
	if (!meter_poll->interface[0])
		return;
	errnum = nl_rtnl_interface(meter_poll->interface, &ifindex, &now);
	/* a failure other than ENODEV, such as lack of memory, is not one of the interface */
	if (errnum == 0 || errnum == ENODEV)
		nl_counters_follow(&meter_poll->counters, ifindex, &now);
}

void nl_meter_poll_mark(struct nl_meter_poll *meter_poll, struct nl_meter *now)
{
	nl_clock_steps_follow(&meter_poll->steps, &now->clocks);
	now->clock_steps = meter_poll->steps.steps;
	now->clock_step_ns = meter_poll->steps.step_ns;
	if (!meter_poll->interface[0])
		return;
	nl_counters_follow(&meter_poll->counters, now->ifindex, &now->interface);
	now->interface = meter_poll->counters.steady;
	now->wraps = meter_poll->counters.wraps;
	now->resets = meter_poll->counters.resets;
}
