#include "meter/meter_poll.h"

#include "meter/counters.h"
#include "net/rtnl.h"

#include <errno.h>
#include <string.h>

/* An Ethernet header; more than any super-packet passed to a device. */
enum { PACKET_MIN_B = 14, PACKET_MAX_B = 1 << 20 };

struct growth {
	uint64_t by;
	uint32_t wrapped;
	int backwards; /* and not a wrap */
};

static struct growth counter_growth(uint64_t before, uint64_t after)
{
	if (after >= before)
		return (struct growth){.by = after - before};
	if (before > UINT32_MAX)
		return (struct growth){.backwards = 1};
	return (struct growth){.by = (UINT64_C(1) << 32) - before + after, .wrapped = 1};
}

/* True if a wrap explains the change of one direction's counters. */
static int growths_fit(const struct growth *bytes, const struct growth *packets)
{
	if (bytes->backwards || packets->backwards)
		return 0;
	if (!bytes->wrapped && !packets->wrapped)
		return 1;
	return bytes->by >= PACKET_MIN_B * packets->by && bytes->by / PACKET_MAX_B <= packets->by &&
	       packets->by > 0;
}

void nl_counters_begin(struct nl_counters *c, int32_t ifindex, const struct nl_interface *now)
{
	memset(c, 0, sizeof(*c));
	c->ifindex = ifindex;
	c->last = c->steady = *now;
}

static int counters_add(struct nl_counters *c, const struct nl_interface *now)
{
	struct growth growth[NL_INTERFACE_COUNTERS];

	for (int i = 0; i < NL_INTERFACE_COUNTERS; i++) {
		const struct nl_counter *counter = &nl_interface_counters[i];

		growth[i] = counter_growth(nl_counter_get(counter, &c->last), nl_counter_get(counter, now));
		/* errors and drops never grow by 2^32 */
		if (i >= NL_INTERFACE_RARE && (growth[i].wrapped || growth[i].backwards))
			return -1;
	}
	if (!growths_fit(&growth[NL_RX_BYTES], &growth[NL_RX_PACKETS]) ||
	    !growths_fit(&growth[NL_TX_BYTES], &growth[NL_TX_PACKETS]))
		return -1;
	for (int i = 0; i < NL_INTERFACE_COUNTERS; i++) {
		const struct nl_counter *counter = &nl_interface_counters[i];

		nl_counter_set(counter, &c->steady, nl_counter_get(counter, &c->steady) + growth[i].by);
		c->wraps += growth[i].wrapped;
	}
	return 0;
}

void nl_counters_follow(struct nl_counters *c, int32_t ifindex, const struct nl_interface *now)
{
	if (ifindex != c->ifindex || (ifindex != 0 && counters_add(c, now)))
		c->resets++;
	c->ifindex = ifindex;
	c->last = *now;
}

void nl_meter_poll_begin(struct nl_meter_poll *meter_poll, const struct nl_meter *first)
{
	memset(meter_poll, 0, sizeof(*meter_poll));
	memcpy(meter_poll->interface, first->name, sizeof(meter_poll->interface));
	nl_counters_begin(&meter_poll->counters, first->ifindex, &first->interface);
	meter_poll->steps.reference = first->clocks;
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
