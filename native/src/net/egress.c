#include "net/egress.h"

#include "net/interface.h"
#include "net/sock.h"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t mtu_B(const char *interface)
{
	struct ifreq ifr = {0};
	int failed = nl_interface_ioctl(SIOCGIFMTU, interface, &ifr) < 0;

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

/* The local address of a connection, without sending anything. 0 or -1. */
static int local_address(const char *to, const char *from, struct sockaddr_storage *local)
{
	enum { DISCARD_PORT = 9 };
	socklen_t len = sizeof(*local);
	struct nl_address peer, own;
	int fd, failed;

	if (nl_address_parse(to, DISCARD_PORT, &peer))
		return -1;
	fd = socket(peer.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	failed = *from && (nl_address_parse(from, 0, &own) ||
			   bind(fd, (struct sockaddr *)&own.storage, own.len));
	failed = failed || connect(fd, (struct sockaddr *)&peer.storage, peer.len) ||
		 getsockname(fd, (struct sockaddr *)local, &len);
	close(fd);
	return failed ? -1 : 0;
}

void nl_egress_name(const char *to, const char *from, char name[IFNAMSIZ])
{
	struct ifaddrs *all, *each;
	struct sockaddr_storage local, other;
	size_t len;

	memset(name, 0, IFNAMSIZ);
	if (local_address(to, from, &local) || getifaddrs(&all))
		return;
	len = local.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	for (each = all; each; each = each->ifa_next) {
		if (!each->ifa_addr || each->ifa_addr->sa_family != local.ss_family)
			continue;
		memset(&other, 0, sizeof(other));
		memcpy(&other, each->ifa_addr, len);
		if (nl_address_same_host(&local, &other)) {
			strncpy(name, each->ifa_name, IFNAMSIZ - 1);
			break;
		}
	}
	freeifaddrs(all);
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
