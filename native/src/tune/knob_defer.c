/* knob_defer: interrupt deferral and threads of an interface, through sysfs. */
#include "base/process.h"
#include "tune/knob_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define DEFER_PATH (NL_KNOB_INTERFACE_MAX + NL_KNOB_NAME_MAX + 2)

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
	if (err != ENOENT)
		return nl_knob_unreadable(why, "it cannot be read", err);
	nl_fail(why, NL_REFUSED, "this kernel does not support %s", k->kind == NL_KNOB_DEFER ?
		"software interrupt deferral" : "threads of an interface");
	return NL_KNOB_UNSUPPORTED;
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
	.most = UINT32_MAX,
};

static const char *const napi_names[] = {"threaded", NULL};

const struct nl_knob_ops nl_knob_ops_napi = {
	.kind = "napi",
	.names = napi_names,
	.has_interface = 1,
	.read = defer_read,
	.write = defer_write,
	.restore = defer_write,
	.most = 1,
};
