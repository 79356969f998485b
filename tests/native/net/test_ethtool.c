#include "check.h"
#include "net/ethtool.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <sched.h>
#include <stdint.h>

static void set(uint32_t cmd, uint32_t on)
{
	struct ethtool_value value = {.cmd = cmd, .data = on};

	CHECK(nl_ethtool("lo", &value) == 0);
}

static void either_offload_makes_packets_large(void)
{
	for (uint32_t tso = 0; tso <= 1; tso++) {
		for (uint32_t gso = 0; gso <= 1; gso++) {
			set(ETHTOOL_STSO, tso);
			set(ETHTOOL_SGSO, gso);
			CHECK(nl_ethtool_segments("lo") == (tso || gso));
		}
	}
}

static void an_interface_that_cannot_be_asked_is_like_most(void)
{
	struct ethtool_value value = {.cmd = ETHTOOL_GTSO};

	CHECK(nl_ethtool("netlab-none", &value) == -ENODEV);
	CHECK(nl_ethtool_segments("netlab-none") == 1);
	CHECK(nl_ethtool_segments("") == 1);
	CHECK(nl_ethtool_segments("a name that is longer than any interface's") == 1);
}

int main(void)
{
	/* a loopback interface of its own, free to change */
	CHECK(unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0);
	either_offload_makes_packets_large();
	an_interface_that_cannot_be_asked_is_like_most();
	return 0;
}
