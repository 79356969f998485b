#include "meter/counters.h"

#include <string.h>

/* An Ethernet header; more than any super-packet passed to a device. */
enum { PACKET_MIN_B = 14, PACKET_MAX_B = 1 << 20 };

struct growth {
	uint64_t by;
	uint32_t wrapped;
	int backwards; /* and not a wrap */
};

static struct growth grow(uint64_t before, uint64_t after)
{
	if (after >= before)
		return (struct growth){.by = after - before};
	if (before > UINT32_MAX)
		return (struct growth){.backwards = 1};
	return (struct growth){.by = (UINT64_C(1) << 32) - before + after, .wrapped = 1};
}

/* True if a wrap explains the change of one direction's counters. */
static int fit(const struct growth *bytes, const struct growth *packets)
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

static int follow(struct nl_counters *c, const struct nl_interface *now)
{
	const struct nl_interface *last = &c->last;
	const struct growth rx_bytes = grow(last->rx_bytes, now->rx_bytes);
	const struct growth tx_bytes = grow(last->tx_bytes, now->tx_bytes);
	const struct growth rx_packets = grow(last->rx_packets, now->rx_packets);
	const struct growth tx_packets = grow(last->tx_packets, now->tx_packets);

	if (!fit(&rx_bytes, &rx_packets) || !fit(&tx_bytes, &tx_packets))
		return -1;
	/* errors and drops never grow by 2^32 */
	if (now->rx_errors < last->rx_errors || now->tx_errors < last->tx_errors ||
	    now->rx_dropped < last->rx_dropped || now->tx_dropped < last->tx_dropped)
		return -1;
	c->steady.rx_bytes += rx_bytes.by;
	c->steady.tx_bytes += tx_bytes.by;
	c->steady.rx_packets += rx_packets.by;
	c->steady.tx_packets += tx_packets.by;
	c->steady.rx_errors += now->rx_errors - last->rx_errors;
	c->steady.tx_errors += now->tx_errors - last->tx_errors;
	c->steady.rx_dropped += now->rx_dropped - last->rx_dropped;
	c->steady.tx_dropped += now->tx_dropped - last->tx_dropped;
	c->wraps += rx_bytes.wrapped + tx_bytes.wrapped + rx_packets.wrapped + tx_packets.wrapped;
	return 0;
}

void nl_counters_follow(struct nl_counters *c, int32_t ifindex, const struct nl_interface *now)
{
	if (ifindex != c->ifindex)
		c->resets++;
	else if (ifindex != 0 && follow(c, now))
		c->resets++;
	c->ifindex = ifindex;
	c->last = *now;
}
