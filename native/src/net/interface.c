#include "net/interface.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
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
	if (result < 0)
		result = -errno;
	close(fd);
	return result;
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
