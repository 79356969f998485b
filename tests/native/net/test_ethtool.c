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

static void an_unknown_interface_has_the_default(void)
{
	struct ethtool_value value = {.cmd = ETHTOOL_GTSO};

	CHECK(nl_ethtool("netlab-none", &value) == -ENODEV);
	CHECK(nl_ethtool_segments("netlab-none") == 1);
	CHECK(nl_ethtool_segments("") == 1);
	CHECK(nl_ethtool_segments("a name that is longer than any interface's") == 1);
}

static void new_network(void)
{
	static int flags = CLONE_NEWUSER | CLONE_NEWNET;

	/* a loopback interface of its own, free to change */
	CHECK(unshare(flags) == 0);
	flags = CLONE_NEWNET; /* privileged in the user namespace from now on */
}

static const struct nl_test tests[] = {
	TEST_WITH(either_offload_makes_packets_large, new_network, NULL),
	TEST_WITH(an_unknown_interface_has_the_default, new_network, NULL),
};

int main(int argc, char **argv)
{
	return RUN_TESTS(tests, argc, argv);
}
