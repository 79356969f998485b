#include "net/egress.h"

#include "net/ethtool.h"

#include <linux/ethtool.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t mtu_B(const char *interface)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed;
	struct ifreq ifr;

	if (fd < 0)
		return 0;
	memset(&ifr, 0, sizeof(ifr));
	strncpy(ifr.ifr_name, interface, sizeof(ifr.ifr_name) - 1);
	failed = ioctl(fd, SIOCGIFMTU, &ifr);
	close(fd);
	return failed || ifr.ifr_mtu < 0 ? 0 : (uint64_t)ifr.ifr_mtu;
}

static uint64_t transmit_queues(const char *interface)
{
	struct ethtool_channels has = {.cmd = ETHTOOL_GCHANNELS};
	uint64_t queues = 0;

	if (nl_ethtool(interface, &has) >= 0)
		queues = (uint64_t)has.tx_count + has.combined_count;
	return queues ? queues : 1;
}

struct nl_egress nl_egress_of(const char *interface)
{
	struct nl_egress egress = {.packet_B = NL_EGRESS_LARGE_B,
				   .queues = transmit_queues(interface)};

	if (!nl_ethtool_segments(interface))
		egress.packet_B = mtu_B(interface);
	if (!egress.packet_B || egress.packet_B > NL_EGRESS_LARGE_B)
		egress.packet_B = NL_EGRESS_LARGE_B;
	return egress;
}
