/* knob_link: MTU and queue length through interface ioctls, deferral and threads of an
 * interface through sysfs. */
#include "net/ifindex.h"
#include "tune/knob_file.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IPV6_MIN_MTU 1280
#define DEFER_PATH (NL_KNOB_INTERFACE_MAX + NL_KNOB_NAME_MAX + 2)

/* 0 or errno; sockets of every family accept interface requests. */
static int request(const struct nl_knob *k, unsigned long call, struct ifreq *ifr)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	if (fd < 0)
		return errno;
	memcpy(ifr->ifr_name, k->interface, sizeof(k->interface));
	if (ioctl(fd, call, ifr) < 0)
		err = errno;
	close(fd);
	return err;
}

static enum nl_knob_code gone(const struct nl_knob *k, struct nl_err *why)
{
	nl_fail(why, NL_REFUSED, "no such interface: %s", k->interface);
	return NL_KNOB_GONE;
}

static enum nl_knob_code link_read(const struct nl_knob *k, struct nl_value *out,
				   enum nl_knob_access *access, struct nl_err *why)
{
	int mtu = k->kind == NL_KNOB_MTU;
	struct ifreq ifr;
	int err;

	*access = NL_KNOB_READ_ONLY;
	memset(&ifr, 0, sizeof(ifr));
	err = request(k, mtu ? SIOCGIFMTU : SIOCGIFTXQLEN, &ifr);
	if (err == ENODEV)
		return gone(k, why);
	if (err)
		return nl_knob_fail_errno(why, mtu ? "SIOCGIFMTU" : "SIOCGIFTXQLEN", err);
	snprintf(out->text, sizeof(out->text), "%d", mtu ? ifr.ifr_mtu : ifr.ifr_qlen);
	memcpy(out->exact, out->text, sizeof(out->exact));
	*access = nl_knob_privilege(why);
	return NL_KNOB_OK;
}

/* Below 1280 the kernel removes IPv6 from an interface, with its addresses and settings; a larger
 * MTU later does not restore them. */
static int would_lose_ipv6(const struct nl_knob *k, long mtu)
{
	char path[64];

	if (mtu >= IPV6_MIN_MTU)
		return 0;
	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s", k->interface);
	return access(path, F_OK) == 0;
}

static enum nl_knob_code link_set(const struct nl_knob *k, const char *text, struct nl_err *why)
{
	int mtu = k->kind == NL_KNOB_MTU;
	long value = strtol(text, NULL, 10);
	struct ifreq ifr;
	int err;

	memset(&ifr, 0, sizeof(ifr));
	if (mtu)
		ifr.ifr_mtu = (int)value;
	else
		ifr.ifr_qlen = (int)value;
	err = request(k, mtu ? SIOCSIFMTU : SIOCSIFTXQLEN, &ifr);
	if (err == ENODEV)
		return gone(k, why);
	if (err)
		return nl_knob_fail_errno(why, mtu ? "SIOCSIFMTU" : "SIOCSIFTXQLEN", err);
	return NL_KNOB_OK;
}

static enum nl_knob_code link_write(const struct nl_knob *k, const char *text,
				    struct nl_err *why)
{
	if (k->kind == NL_KNOB_MTU && would_lose_ipv6(k, strtol(text, NULL, 10))) {
		nl_fail(why, NL_REFUSED, "an MTU below %d removes IPv6 from %s, and a revert would not "
				   "restore its addresses", IPV6_MIN_MTU, k->interface);
		return NL_KNOB_REFUSED;
	}
	return link_set(k, text, why);
}

static int is_int(const char *text)
{
	return nl_knob_is_number(text) && strtoul(text, NULL, 10) <= INT32_MAX;
}

static int is_positive_int(const char *text)
{
	return is_int(text) && text[0] != '0';
}

const struct nl_knob_ops nl_knob_ops_mtu = {
	.kind = "mtu",
	.has_interface = 1,
	.read = link_read,
	.write = link_write,
	.restore = link_set,
	.value_ok = is_positive_int,
	.value_form = "an MTU is a positive decimal number of bytes",
};

const struct nl_knob_ops nl_knob_ops_txqueuelen = {
	.kind = "txqueuelen",
	.has_interface = 1,
	.read = link_read,
	.write = link_write,
	.restore = link_set,
	.value_ok = is_int,
	.value_form = "a queue length is a decimal number of packets",
};

/* sysfs shows the interfaces of the namespace in which it was mounted. In a process that has joined
 * another namespace it shows a different interface of the same name. So compare the index; if it
 * differs, open a private sysfs of the right namespace, mounted nowhere.
 * 1: it is that of this namespace, 0: of another one, or a negative errno. */
static int sysfs_is_ours(int dir, const struct nl_knob *k)
{
	int ifindex = nl_ifindex_of(k->interface), err;
	struct nl_value found;
	char path[64];

	if (ifindex < 0)
		return ifindex;
	snprintf(path, sizeof(path), "%s/ifindex", k->interface);
	err = nl_knob_file_read(dir, path, &found);
	if (nl_knob_is_shortage(err))
		return -err;
	return err == 0 && strtol(found.text, NULL, 10) == ifindex;
}

static int sysfs_private(void)
{
#if defined(SYS_fsopen) && defined(SYS_fsconfig) && defined(SYS_fsmount)
	enum { CMD_CREATE = 6, OPEN_CLOEXEC = 1, MOUNT_CLOEXEC = 1 };
	long fs = syscall(SYS_fsopen, "sysfs", OPEN_CLOEXEC);
	long mount = -1;
	int dir = -1;

	if (fs < 0)
		return -1;
	if (syscall(SYS_fsconfig, fs, CMD_CREATE, NULL, NULL, 0) == 0)
		mount = syscall(SYS_fsmount, fs, MOUNT_CLOEXEC, 0);
	if (mount >= 0) {
		dir = openat((int)mount, "class/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close((int)mount);
	}
	close((int)fs);
	return dir;
#else
	errno = ENOSYS;
	return -1;
#endif
}

/* The sysfs of this namespace in *dir, or the code of a failure. */
static enum nl_knob_code sysfs_open(const struct nl_knob *k, int *dir, struct nl_err *why)
{
	int ours = -1;

	for (int private = 0; private < 2 && ours <= 0; private++) {
		*dir = private ? sysfs_private()
			       : open("/sys/class/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (*dir < 0 && nl_knob_is_shortage(errno))
			return nl_knob_fail_errno(why, "/sys/class/net", errno);
		if (*dir < 0)
			continue;
		ours = sysfs_is_ours(*dir, k);
		if (ours <= 0)
			close(*dir);
		if (ours == -ENODEV)
			return gone(k, why);
		if (ours < 0)
			return nl_knob_fail_errno(why, "/sys/class/net", -ours);
	}
	if (ours > 0)
		return NL_KNOB_OK;
	nl_fail(why, NL_REFUSED, "/sys shows another network namespace, and a sysfs of this one cannot "
			   "be mounted");
	return NL_KNOB_UNSUPPORTED;
}

static enum nl_knob_code defer_open(const struct nl_knob *k, int *dir, char path[DEFER_PATH],
				    struct nl_err *why)
{
	snprintf(path, DEFER_PATH, "%s/%s", k->interface, k->name);
	return sysfs_open(k, dir, why);
}

static enum nl_knob_code defer_read(const struct nl_knob *k, struct nl_value *out,
				    enum nl_knob_access *access, struct nl_err *why)
{
	char path[DEFER_PATH];
	int dir, err;
	enum nl_knob_code code = defer_open(k, &dir, path, why);

	*access = NL_KNOB_READ_ONLY;
	if (code != NL_KNOB_OK)
		return code;
	err = nl_knob_file_read(dir, path, out);
	if (err == 0 && faccessat(dir, path, W_OK, AT_EACCESS) < 0 && errno == EROFS)
		nl_fail(why, NL_REFUSED, "/sys is mounted read-only here");
	else if (err == 0)
		*access = nl_knob_privilege(why);
	close(dir);
	if (err == 0)
		return NL_KNOB_OK;
	if (err == ENOENT)
		nl_fail(why, NL_REFUSED, "this kernel does not support %s", k->kind == NL_KNOB_DEFER ?
			"software interrupt deferral" : "threads of an interface");
	else
		nl_knob_fail_errno(why, "it cannot be read", err);
	return nl_knob_is_shortage(err) ? NL_KNOB_FAILED : NL_KNOB_UNSUPPORTED;
}

static enum nl_knob_code defer_write(const struct nl_knob *k, const char *text,
				     struct nl_err *why)
{
	char path[DEFER_PATH];
	int dir, err;
	enum nl_knob_code code = defer_open(k, &dir, path, why);

	if (code != NL_KNOB_OK)
		return code;
	err = nl_knob_file_write(dir, path, text);
	close(dir);
	if (err)
		return nl_knob_fail_errno(why, "write", err);
	return NL_KNOB_OK;
}

static const char *const defer_names[] = {"gro_flush_timeout", "napi_defer_hard_irqs", NULL};

const struct nl_knob_ops nl_knob_ops_defer = {
	.kind = "defer",
	.names = defer_names,
	.has_interface = 1,
	.read = defer_read,
	.write = defer_write,
	.restore = defer_write,
	.value_ok = nl_knob_is_number,
	.value_form = "the value is a decimal number",
};

static int is_flag(const char *text)
{
	return strcmp(text, "0") == 0 || strcmp(text, "1") == 0;
}

static const char *const napi_names[] = {"threaded", NULL};

const struct nl_knob_ops nl_knob_ops_napi = {
	.kind = "napi",
	.names = napi_names,
	.has_interface = 1,
	.read = defer_read,
	.write = defer_write,
	.restore = defer_write,
	.value_ok = is_flag,
	.value_form = "the value is 0 or 1",
};
