#include "net/interface.h"

#include "base/files.h"
#include "net/sock.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int nl_interface_ioctl(unsigned long call, const char *name, struct ifreq *ifr)
{
	/* sockets of every family accept interface requests */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), result;

	if (fd < 0)
		return -errno;
	if (name)
		strncpy(ifr->ifr_name, name, sizeof(ifr->ifr_name) - 1);
	result = ioctl(fd, call, ifr);
	nl_close(&fd);
	return result < 0 ? -errno : result;
}

int nl_ifindex_of(const char *name)
{
	struct ifreq ifr = {0};
	int result = strlen(name) < sizeof(ifr.ifr_name) ? nl_interface_ioctl(SIOCGIFINDEX, name, &ifr)
							 : -ENODEV;

	return result < 0 ? result : ifr.ifr_ifindex;
}

int nl_ifindex_name(int index, char name[IFNAMSIZ])
{
	struct ifreq ifr = {.ifr_ifindex = index};
	int result = nl_interface_ioctl(SIOCGIFNAME, NULL, &ifr);

	if (result == 0)
		memcpy(name, ifr.ifr_name, sizeof(ifr.ifr_name));
	return result == -ENXIO ? -ENODEV : result;
}

int nl_ethtool(const char *interface, void *data)
{
	struct ifreq ifr = {.ifr_data = data};

	return nl_interface_ioctl(SIOCETHTOOL, interface, &ifr);
}

int nl_ethtool_strings(const char *interface, uint32_t set, uint32_t most, struct ethtool_gstrings **out)
{
	union {
		struct ethtool_sset_info info;
		char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} u;
	uint32_t count;
	int result;

	memset(&u, 0, sizeof(u));
	u.info.cmd = ETHTOOL_GSSET_INFO;
	u.info.sset_mask = UINT64_C(1) << set;
	result = nl_ethtool(interface, &u);
	if (result < 0)
		return result;
	memcpy(&count, u.room + sizeof(u.info), sizeof(count));
	if (!u.info.sset_mask || count == 0 || count > most)
		return -EOPNOTSUPP;
	*out = calloc(1, sizeof(**out) + (size_t)count * ETH_GSTRING_LEN);
	if (!*out)
		return -ENOMEM;
	(*out)->cmd = ETHTOOL_GSTRINGS;
	(*out)->string_set = set;
	(*out)->len = count;
	result = nl_ethtool(interface, *out);
	if (result >= 0 && (*out)->len == count)
		return 0;
	free(*out);
	return result < 0 ? result : -EAGAIN;
}

int nl_ethtool_segments(const char *interface)
{
	struct ethtool_value tso = {.cmd = ETHTOOL_GTSO}, gso = {.cmd = ETHTOOL_GGSO};

	if (nl_ethtool(interface, &tso) < 0 || nl_ethtool(interface, &gso) < 0)
		return 1;
	return tso.data || gso.data;
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
	failed = (*from && (nl_address_parse(from, 0, &own) ||
			    bind(fd, (struct sockaddr *)&own.storage, own.len))) ||
		 connect(fd, (struct sockaddr *)&peer.storage, peer.len) ||
		 getsockname(fd, (struct sockaddr *)local, &len);
	nl_close(&fd);
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
	struct ethtool_channels has = {.cmd = ETHTOOL_GCHANNELS};
	struct nl_egress egress = {.packet_B = NL_EGRESS_LARGE_B};
	struct ifreq ifr = {0};

	if (nl_ethtool(interface, &has) >= 0)
		egress.queues = (uint64_t)has.tx_count + has.combined_count;
	if (!egress.queues)
		egress.queues = 1;
	if (!nl_ethtool_segments(interface) && nl_interface_ioctl(SIOCGIFMTU, interface, &ifr) >= 0 &&
	    ifr.ifr_mtu > 0 && ifr.ifr_mtu < NL_EGRESS_LARGE_B)
		egress.packet_B = (uint64_t)ifr.ifr_mtu;
	return egress;
}
