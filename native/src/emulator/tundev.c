#include "emulator/tundev.h"

#include "base/error.h"
#include "emulator/superpacket.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int make_here(const char *device, int *fd, struct nl_err *err)
{
	const unsigned long offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
	struct ifreq ifr = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
	int header_B = NL_VNET_B;

	*fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return nl_fail_errno(err, errno, "open /dev/net/tun");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", device);
	if (ioctl(*fd, TUNSETIFF, &ifr) < 0)
		nl_fail_errno(err, errno, "TUNSETIFF %s", device);
	else if (ioctl(*fd, TUNSETVNETHDRSZ, &header_B) < 0)
		nl_fail_errno(err, errno, "TUNSETVNETHDRSZ %s", device);
	else if (ioctl(*fd, TUNSETOFFLOAD, offloads) < 0)
		nl_fail_errno(err, errno, "TUNSETOFFLOAD %s", device);
	else
		return NL_OK;
	close(*fd);
	return err->code;
}

int nl_tundev_open(const char *namespace, const char *device, int *fd, struct nl_err *err)
{
	int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), there, code;

	if (own < 0)
		return nl_fail_errno(err, errno, "open /proc/thread-self/ns/net");
	there = open(namespace, O_RDONLY | O_CLOEXEC);
	if (there < 0) {
		code = nl_fail_errno(err, errno, "open %s", namespace);
	} else if (setns(there, CLONE_NEWNET) < 0) {
		code = nl_fail_errno(err, errno, "setns %s", namespace);
	} else {
		code = make_here(device, fd, err);
		if (setns(own, CLONE_NEWNET) < 0) {
			if (code == NL_OK)
				close(*fd);
			code = nl_fail_errno(err, errno, "setns back");
		}
	}
	if (there >= 0)
		close(there);
	close(own);
	return code;
}
