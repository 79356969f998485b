#include "check.h"
#include "net/interface.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void new_network(void)
{
	static int flags = CLONE_NEWUSER | CLONE_NEWNET;

	/* a loopback interface of its own, free to change */
	CHECK(unshare(flags) == 0);
	flags = CLONE_NEWNET; /* privileged in the user namespace from now on */
}

#define APART(function) TEST_WITH(function, new_network, NULL)

static void set_offload(uint32_t cmd, uint32_t on)
{
	struct ethtool_value value = {.cmd = cmd, .data = on};

	CHECK(nl_ethtool("lo", &value) == 0);
}

static void set_mtu(int mtu_B)
{
	struct ifreq ifr = {.ifr_mtu = mtu_B};

	CHECK(nl_interface_ioctl(SIOCSIFMTU, "lo", &ifr) == 0);
}

APART(packets_are_large_with_an_offload_and_otherwise_one_mtu)
{
	set_mtu(1500);
	CHECK(nl_egress_of("lo").packet_B == NL_EGRESS_LARGE_B);
	set_offload(ETHTOOL_STSO, 0);
	set_offload(ETHTOOL_SGSO, 0);
	CHECK(nl_egress_of("lo").packet_B == 1500);
	set_mtu(9000);
	CHECK(nl_egress_of("lo").packet_B == 9000);
	set_mtu(65536);
	CHECK(nl_egress_of("lo").packet_B == NL_EGRESS_LARGE_B);
}

APART(unknown_properties_have_defaults)
{
	const char *none[] = {"", "netlab-none", "a name that is longer than any interface's"};
	struct ethtool_value value = {.cmd = ETHTOOL_GTSO};

	CHECK(nl_ethtool("netlab-none", &value) == -ENODEV);
	for (int i = 0; i < 3; i++) {
		CHECK(nl_ethtool_segments(none[i]) == 1);
		CHECK(nl_egress_of(none[i]).packet_B == NL_EGRESS_LARGE_B);
		CHECK(nl_egress_of(none[i]).queues == 1);
	}
	CHECK(nl_egress_of("lo").queues == 1); /* it reports no queues */
}

APART(the_egress_interface_has_the_local_address)
{
	char name[IFNAMSIZ];
	struct ifreq ifr = {0};

	nl_egress_name("198.18.0.1", "", name);
	CHECK(name[0] == '\0'); /* no route */
	nl_egress_name("nowhere", "", name);
	CHECK(name[0] == '\0');
	CHECK(nl_interface_ioctl(SIOCGIFFLAGS, "lo", &ifr) == 0);
	ifr.ifr_flags |= IFF_UP;
	CHECK(nl_interface_ioctl(SIOCSIFFLAGS, "lo", &ifr) == 0);
	nl_egress_name("127.0.0.1", "", name);
	CHECK(strcmp(name, "lo") == 0);
	nl_egress_name("127.0.0.1", "127.0.0.1", name);
	CHECK(strcmp(name, "lo") == 0);
	nl_egress_name("127.0.0.1", "192.0.2.1", name);
	CHECK(name[0] == '\0'); /* not an address of this host */
}

APART(either_offload_makes_packets_large)
{
	for (uint32_t tso = 0; tso <= 1; tso++) {
		for (uint32_t gso = 0; gso <= 1; gso++) {
			set_offload(ETHTOOL_STSO, tso);
			set_offload(ETHTOOL_SGSO, gso);
			CHECK(nl_ethtool_segments("lo") == (tso || gso));
		}
	}
}
