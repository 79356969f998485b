/* knob_link: MTU and queue length through interface ioctls, deferral and threads of an
 * interface through sysfs. */
#include "base/user_namespace.h"
#include "tune/knob_file.h"
#include "tune/knob_sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
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

static enum nl_knob_code defer_open(const struct nl_knob *k, int *dir, char path[DEFER_PATH],
				    struct nl_err *why)
{
	snprintf(path, DEFER_PATH, "%s/%s", k->interface, k->name);
	return nl_knob_sysfs_interfaces(k, dir, why);
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
	else if (err == 0 && k->kind == NL_KNOB_DEFER && !nl_in_first_user_namespace())
		nl_fail(why, NL_REFUSED, "only root of the machine may change it; this is root of a "
			"user namespace");
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
