#include "tune/knob_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tests replace this path. */
#ifndef NL_PROC_SYS
#define NL_PROC_SYS "/proc/sys"
#endif

static void path_of(const struct nl_knob *k, char path[NL_KNOB_NAME_MAX + 1])
{
	size_t i = 0;

	for (; k->name[i]; i++) {
		char c = k->name[i];

		path[i] = c;
		if (c == '.')
			path[i] = '/';
		else if (c == '/')
			path[i] = '.';
	}
	path[i] = '\0';
}

static int root_open(void)
{
	return open(NL_PROC_SYS, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static enum nl_knob_access access_of(int dir, const char *path, struct nl_err *why)
{
	struct stat st;

	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || (st.st_mode & 0222) ||
	    faccessat(dir, path, W_OK, AT_EACCESS) == 0)
		return nl_knob_file_access(dir, path, "/proc/sys", why);
	nl_fail(why, NL_REFUSED, nl_knob_in_first_namespace()
				   ? "read-only in this kernel"
				   : "belongs to the whole machine; read-only in this network namespace");
	return NL_KNOB_READ_ONLY;
}

static enum nl_knob_code sysctl_read(const struct nl_knob *k, struct nl_value *out,
				     enum nl_knob_access *access, struct nl_err *why)
{
	char path[NL_KNOB_NAME_MAX + 1];
	int dir = root_open(), err;

	*access = NL_KNOB_READ_ONLY;
	if (dir < 0)
		return nl_knob_unreadable(why, "/proc/sys", errno);
	path_of(k, path);
	err = nl_knob_file_read(dir, path, out);
	if (err == 0)
		*access = access_of(dir, path, why);
	close(dir);
	if (err == 0)
		return NL_KNOB_OK;
	if (err == ENOENT || err == ENOTDIR) {
		nl_fail(why, NL_REFUSED, nl_knob_in_first_namespace()
					   ? "no such setting in this kernel"
					   : "no such setting in this kernel, or it belongs to the "
					     "whole machine and is not shown in this network "
					     "namespace");
		return NL_KNOB_ABSENT;
	}
	if (err != EISDIR)
		return nl_knob_unreadable(why, "it cannot be read", err);
	nl_fail(why, NL_REFUSED, "a directory of settings, not one setting");
	return NL_KNOB_UNSUPPORTED;
}

static enum nl_knob_code sysctl_write(const struct nl_knob *k, const char *text,
				      struct nl_err *why)
{
	char path[NL_KNOB_NAME_MAX + 1];
	int dir = root_open(), err;

	if (dir < 0)
		return nl_knob_fail_errno(why, "/proc/sys", errno);
	path_of(k, path);
	err = nl_knob_file_write(dir, path, text);
	close(dir);
	if (err)
		return nl_knob_fail_errno(why, "write", err);
	return NL_KNOB_OK;
}

/* The next field of *text, up to a blank; moves *text past it. Its length, 0 at the end. */
static size_t field(const char **text, const char **start)
{
	size_t len;

	*start = *text;
	len = strcspn(*text, " ");
	*text += len + ((*text)[len] == ' ');
	return len;
}

/* True if each number of found equals that of before or of wanted. */
static int sysctl_is_mixture(const struct nl_value *value, const char *before, const char *wanted)
{
	const char *found = value->text;

	while (*found) {
		const char *f, *b, *w;
		size_t fl = field(&found, &f), bl = field(&before, &b), wl = field(&wanted, &w);
		int same_b = fl == bl && memcmp(f, b, fl) == 0;
		int same_w = fl == wl && memcmp(f, w, fl) == 0;

		if (!same_b && !same_w)
			return 0;
	}
	return *before == '\0';
}

const struct nl_knob_ops nl_knob_ops_sysctl = {
	.kind = "sysctl",
	.read = sysctl_read,
	.write = sysctl_write,
	.restore = sysctl_write,
	.restore_probe = 1,
	.is_mixture = sysctl_is_mixture,
};
