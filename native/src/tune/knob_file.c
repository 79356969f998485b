#include "tune/knob_file.h"

#include "net/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int nl_knob_file_read(int dir, const char *path, struct nl_value *out)
{
	int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char text[4097];
	ssize_t n;
	int err;

	if (fd < 0)
		return errno;
	n = read(fd, text, sizeof(text) - 1);
	err = n < 0 ? errno : 0;
	close(fd);
	if (err)
		return err;
	text[n] = '\0';
	nl_knob_fold(text);
	if (strlen(text) > NL_KNOB_VALUE_MAX || n == sizeof(text) - 1)
		return EMSGSIZE;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
			return EILSEQ;
	memcpy(out->text, text, strlen(text) + 1);
	memcpy(out->exact, text, strlen(text) + 1);
	return 0;
}

int nl_knob_file_write(int dir, const char *path, const char *text)
{
	char line[NL_KNOB_VALUE_MAX + 2];
	int len = snprintf(line, sizeof(line), "%s\n", text);
	int fd = openat(dir, path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return errno;
	n = write(fd, line, (size_t)len);
	if (n < 0)
		err = errno;
	else if (n != len)
		err = EIO;
	close(fd);
	return err;
}

enum nl_knob_access nl_knob_file_access(int dir, const char *path, const char *mount, struct nl_err *why)
{
	if (faccessat(dir, path, W_OK, AT_EACCESS) == 0)
		return NL_KNOB_WRITABLE;
	if (errno == EROFS) {
		nl_fail(why, NL_REFUSED, "%s is mounted read-only here", mount);
		return NL_KNOB_READ_ONLY;
	}
	nl_fail(why, NL_REFUSED, "no privilege: the file is not writable for this user");
	return NL_KNOB_NO_PRIVILEGE;
}

/* Tests replace this path. */
#ifndef NL_SYS_CLASS_NET
#define NL_SYS_CLASS_NET "/sys/class/net"
#endif

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

enum nl_knob_code nl_knob_sysfs_interfaces(const struct nl_knob *k, int *dir, struct nl_err *why)
{
	int ours = -1;

	for (int private = 0; private < 2 && ours <= 0; private++) {
		*dir = private ? sysfs_private()
			       : open(NL_SYS_CLASS_NET, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (*dir < 0 && nl_knob_is_shortage(errno))
			return nl_knob_fail_errno(why, NL_SYS_CLASS_NET, errno);
		if (*dir < 0)
			continue;
		ours = sysfs_is_ours(*dir, k);
		if (ours <= 0)
			close(*dir);
		if (ours == -ENODEV)
			return nl_knob_gone(k, why);
		if (ours < 0)
			return nl_knob_fail_errno(why, NL_SYS_CLASS_NET, -ours);
	}
	if (ours > 0)
		return NL_KNOB_OK;
	nl_fail(why, NL_REFUSED, "/sys shows another network namespace, and a sysfs of this one cannot "
			   "be mounted");
	return NL_KNOB_UNSUPPORTED;
}

/* True if dir is the directory of a device on a PCI bus. */
static int is_pci(int dir)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, "subsystem", target, sizeof(target) - 1);
	const char *last;

	if (n <= 0)
		return 0;
	target[n] = '\0';
	last = strrchr(target, '/');
	return strcmp(last ? last + 1 : target, "pci") == 0;
}

enum nl_knob_code nl_knob_sysfs_pci(const struct nl_knob *k, int *device, struct nl_err *why)
{
	char path[NL_KNOB_INTERFACE_MAX + sizeof("/device")];
	int dir, parent, err;
	enum nl_knob_code code = nl_knob_sysfs_interfaces(k, &dir, why);

	if (code != NL_KNOB_OK)
		return code;
	snprintf(path, sizeof(path), "%s/device", k->interface);
	*device = openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = *device < 0 ? errno : 0;
	close(dir);
	if (nl_knob_is_shortage(err))
		return nl_knob_fail_errno(why, "device", err);
	if (!err && !is_pci(*device)) {
		/* A virtio device is the child of its PCI device. */
		parent = openat(*device, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = parent < 0 ? errno : 0;
		close(*device);
		if (nl_knob_is_shortage(err))
			return nl_knob_fail_errno(why, "device", err);
		*device = parent;
		if (!err && !is_pci(parent)) {
			close(parent);
			err = ENODEV;
		}
	}
	if (!err)
		return NL_KNOB_OK;
	nl_fail(why, NL_REFUSED, "%s is not a device on a PCI bus", k->interface);
	return NL_KNOB_UNSUPPORTED;
}
