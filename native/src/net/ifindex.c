#include "net/ifindex.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sockets of every family accept interface requests. */
int nl_interface_ioctl(unsigned long call, struct ifreq *ifr)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int result;

	if (fd < 0)
		return -errno;
	result = ioctl(fd, call, ifr);
	if (result < 0)
		result = -errno;
	close(fd);
	return result;
}

int nl_ifindex_of(const char *name)
{
	struct ifreq ifr;
	int result;

	memset(&ifr, 0, sizeof(ifr));
	if (strlen(name) >= sizeof(ifr.ifr_name))
		return -ENODEV;
	memcpy(ifr.ifr_name, name, strlen(name) + 1);
	result = nl_interface_ioctl(SIOCGIFINDEX, &ifr);
	return result < 0 ? result : ifr.ifr_ifindex;
}

int nl_ifindex_name(int index, char name[IFNAMSIZ])
{
	struct ifreq ifr;
	int result;

	memset(&ifr, 0, sizeof(ifr));
	ifr.ifr_ifindex = index;
	result = nl_interface_ioctl(SIOCGIFNAME, &ifr);
	if (result == 0)
		memcpy(name, ifr.ifr_name, sizeof(ifr.ifr_name));
	return result == -ENXIO ? -ENODEV : result;
}
