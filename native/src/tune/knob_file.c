#include "tune/knob_file.h"

#include "base/files.h"
#include "base/process.h"
#include "net/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int nl_knob_text_read(int dir, const char *path, struct nl_value *out)
{
	int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char text[4097];
	ssize_t n;

	if (fd < 0)
		return errno;
	n = read(fd, text, sizeof(text) - 1);
	nl_close(&fd);
	if (n < 0)
		return errno;
	text[n] = '\0';
	nl_knob_fold(text);
	if (strlen(text) > NL_KNOB_VALUE_MAX || n == sizeof(text) - 1)
		return EMSGSIZE;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
			return EILSEQ;
	nl_knob_put_text(out, text);
	return 0;
}

/* Write text and a newline in one write(2). 0, or errno. */
static int text_write(int dir, const char *path, const char *text)
{
	char line[NL_KNOB_VALUE_MAX + 2];
	int len = snprintf(line, sizeof(line), "%s\n", text);
	int fd = openat(dir, path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return errno;
	n = write(fd, line, (size_t)len);
	nl_close(&fd);
	return n < 0 ? errno : n != len ? EIO : 0;
}

/* -- the operations ------------------------------------------------------------------ */

enum nl_knob_code nl_knob_file_enter(const struct nl_knob *k, struct nl_knob_place *p, struct nl_err *why)
{
	*p = (struct nl_knob_place){.dir = -1, .device = -1};
	return ((const struct nl_knob_file *)k->ops->detail)->enter(k, p, why);
}

void nl_knob_file_leave(struct nl_knob_place *p)
{
	nl_close(&p->dir);
	nl_close(&p->device);
}

enum nl_knob_code nl_knob_file_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why)
{
	const struct nl_knob_file *file = k->ops->detail;
	struct nl_knob_place p;
	int err;
	enum nl_knob_code code = nl_knob_file_enter(k, &p, why);

	if (code != NL_KNOB_OK)
		return code;
	err = p.absent ? ENOENT : nl_knob_text_read(p.dir, p.path, out);
	if (!err)
		out->access = file->access(k, &p, why);
	nl_knob_file_leave(&p);
	if (err == ENOENT || err == ENOTDIR)
		return nl_knob_fail(why, file->missing, "%s%s%s", file->lacks,
				    k->ops->has_members ? k->name : "",
				    k->ops == &nl_knob_ops_sysctl && !nl_knob_in_first_namespace()
					    ? ", or it belongs to the whole machine and is not shown in "
					      "this network namespace"
					    : "");
	if (err == EISDIR)
		return nl_knob_fail(why, NL_KNOB_UNSUPPORTED,
				    "a directory of settings, not one setting");
	return err ? nl_knob_unreadable(why, "it cannot be read", err) : NL_KNOB_OK;
}

enum nl_knob_code nl_knob_file_write(const struct nl_knob *k, const char *text, struct nl_err *why)
{
	const struct nl_knob_file *file = k->ops->detail;
	struct nl_knob_place p;
	int err = 0;
	enum nl_knob_code code = nl_knob_file_enter(k, &p, why);

	if (code != NL_KNOB_OK)
		return code;
	if (file->refusal)
		code = file->refusal(k, &p, text, 0, why);
	if (code == NL_KNOB_OK)
		err = p.absent ? ENOENT : text_write(p.dir, p.path, text);
	if (err && file->refusal)
		code = file->refusal(k, &p, text, err, why);
	if (err && code == NL_KNOB_OK)
		code = nl_knob_fail_errno(why, "write", err);
	nl_knob_file_leave(&p);
	return code;
}

enum nl_knob_access nl_knob_file_access(const struct nl_knob_place *p, const char *mount,
					struct nl_err *why)
{
	if (faccessat(p->dir, p->path, W_OK, AT_EACCESS) == 0)
		return NL_KNOB_WRITABLE;
	if (errno == EROFS)
		return nl_knob_fail(why, NL_KNOB_READ_ONLY, "%s is mounted read-only here", mount);
	return nl_knob_fail(why, NL_KNOB_NO_PRIVILEGE, "no privilege: the file is not writable for this user");
}

/* -- sysctl -------------------------------------------------------------------------- */

/* Tests replace this path. */
#ifndef NL_PROC_SYS
#define NL_PROC_SYS "/proc/sys"
#endif

/* The notation of sysctl(8): dots separate the components, a slash is a dot within one. */
static void sysctl_path(const char *name, char *path)
{
	do
		*path++ = *name == '.' ? '/' : *name == '/' ? '.' : *name;
	while (*name++);
}

/* Others could run a program, or cannot be put back: kernel.core_pattern, vm.drop_caches. */
static const char *const sysctl_prefix[] = {
	"net.", "kernel.numa_balancing", "kernel.sched_", "kernel.timer_migration", "kernel.nmi_watchdog",
	"vm.min_free_kbytes", "vm.swappiness", "vm.stat_interval", "vm.zone_reclaim_mode",
};

static int sysctl_is_name(const char *name)
{
	char path[NL_KNOB_NAME_MAX + 2];
	size_t len = strlen(name), i = 0;

	while (i < sizeof(sysctl_prefix) / sizeof(sysctl_prefix[0]) &&
	       strncmp(name, sysctl_prefix[i], strlen(sysctl_prefix[i])) != 0)
		i++;
	sysctl_path(name, path);
	memcpy(path + len, "/", 2);
	return i < sizeof(sysctl_prefix) / sizeof(sysctl_prefix[0]) && !strstr(path, "//") &&
	       !strstr(path, "/./") &&
	       !strstr(path, "/../") &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == len;
}

static enum nl_knob_code sysctl_enter(const struct nl_knob *k, struct nl_knob_place *p,
				      struct nl_err *why)
{
	sysctl_path(k->name, p->path);
	p->dir = open(NL_PROC_SYS, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return p->dir < 0 ? nl_knob_unreadable(why, "/proc/sys", errno) : NL_KNOB_OK;
}

static enum nl_knob_access sysctl_access(const struct nl_knob *k, const struct nl_knob_place *p,
					 struct nl_err *why)
{
	struct stat st;
	/* of a network namespace only those of net. are its own */
	int is_own = strncmp(k->name, "net.", 4) == 0 || nl_knob_in_first_namespace();

	if (is_own && (fstatat(p->dir, p->path, &st, AT_SYMLINK_NOFOLLOW) < 0 || (st.st_mode & 0222) ||
		       faccessat(p->dir, p->path, W_OK, AT_EACCESS) == 0))
		return nl_knob_file_access(p, "/proc/sys", why);
	return nl_knob_fail(why, NL_KNOB_READ_ONLY, nl_knob_in_first_namespace()
			    ? "read-only in this kernel"
			    : "belongs to the whole machine; read-only in this network namespace");
}

/* The next field of *text, up to a blank; moves *text past it. Its length, 0 at the end. */
static size_t next_field(const char **text, const char **start)
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
		size_t fl = next_field(&found, &f), bl = next_field(&before, &b), wl = next_field(&wanted, &w);
		int same_b = fl == bl && memcmp(f, b, fl) == 0;
		int same_w = fl == wl && memcmp(f, w, fl) == 0;

		if (!same_b && !same_w)
			return 0;
	}
	return *before == '\0';
}

static const struct nl_knob_file sysctl_file = {sysctl_enter, sysctl_access, NL_KNOB_ABSENT,
						"no such setting in this kernel", NULL};

const struct nl_knob_ops nl_knob_ops_sysctl = {
	.kind = "sysctl", .is_name = sysctl_is_name,
	.expected = "a sysctl under net., or one of kernel. and vm. that the documentation names",
	.detail = &sysctl_file, .restore_probe = 1,
	.read = nl_knob_file_read, .write = nl_knob_file_write, .is_mixture = sysctl_is_mixture,
};

/* -- directories of sysfs ------------------------------------------------------------ */

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
	err = nl_knob_text_read(dir, path, &found);
	if (nl_knob_is_shortage(err))
		return -err;
	return err == 0 && strtol(found.text, NULL, 10) == ifindex;
}

static int sysfs_private(void)
{
#if defined(SYS_fsopen) && defined(SYS_fsconfig) && defined(SYS_fsmount)
	enum { CMD_CREATE = 6, OPEN_CLOEXEC = 1, MOUNT_CLOEXEC = 1 };
	int fs = (int)syscall(SYS_fsopen, "sysfs", OPEN_CLOEXEC), mount = -1, dir = -1;

	if (fs >= 0 && syscall(SYS_fsconfig, fs, CMD_CREATE, NULL, NULL, 0) == 0)
		mount = (int)syscall(SYS_fsmount, fs, MOUNT_CLOEXEC, 0);
	if (mount >= 0)
		dir = openat(mount, "class/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	nl_close(&mount);
	nl_close(&fs);
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
	return nl_knob_fail(why, NL_KNOB_UNSUPPORTED,
			    "/sys shows another network namespace, and a sysfs of this one cannot be mounted");
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
	/* A virtio device is the child of its PCI device. */
	static const char *const below[] = {"device", "device/.."};
	char path[NL_KNOB_INTERFACE_MAX + sizeof("/device/..")];
	int dir, errnum = 0;
	enum nl_knob_code code = nl_knob_sysfs_interfaces(k, &dir, why);

	if (code != NL_KNOB_OK)
		return code;
	*device = -1;
	for (int i = 0; i < 2 && !errnum && *device < 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", k->interface, below[i]);
		*device = openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		errnum = *device < 0 ? errno : 0; /* not to take the parent of a PCI device after a shortage */
		if (*device >= 0 && !is_pci(*device))
			nl_close(device);
	}
	close(dir);
	if (*device >= 0)
		return NL_KNOB_OK;
	if (nl_knob_is_shortage(errnum))
		return nl_knob_fail_errno(why, "device", errnum);
	return nl_knob_fail(why, NL_KNOB_UNSUPPORTED, "%s is not a device on a PCI bus", k->interface);
}

/* -- interrupt deferral and threads of an interface ---------------------------------- */

static enum nl_knob_code interface_enter(const struct nl_knob *k, struct nl_knob_place *p,
					 struct nl_err *why)
{
	snprintf(p->path, sizeof(p->path), "%s/%s", k->interface, k->name);
	return nl_knob_sysfs_interfaces(k, &p->dir, why);
}

static enum nl_knob_access interface_access(const struct nl_knob *k, const struct nl_knob_place *p,
					    struct nl_err *why)
{
	if (faccessat(p->dir, p->path, W_OK, AT_EACCESS) < 0 && errno == EROFS)
		return nl_knob_fail(why, NL_KNOB_READ_ONLY, "/sys is mounted read-only here");
	if (k->ops == &nl_knob_ops_defer && !nl_in_first_user_namespace())
		return nl_knob_fail(why, NL_KNOB_READ_ONLY,
				    "only root of the machine may change it; this is root of a user namespace");
	return nl_knob_privilege(why);
}

static const struct nl_knob_file defer_file = {
	interface_enter, interface_access, NL_KNOB_UNSUPPORTED,
	"this kernel does not support software interrupt deferral", NULL};
static const char *const defer_names[] = {"gro_flush_timeout", "napi_defer_hard_irqs", NULL};

const struct nl_knob_ops nl_knob_ops_defer = {
	.kind = "defer", .names = defer_names, .has_interface = 1, .detail = &defer_file,
	.most = UINT32_MAX,
	.read = nl_knob_file_read, .write = nl_knob_file_write,
};

static const struct nl_knob_file napi_file = {
	interface_enter, interface_access, NL_KNOB_UNSUPPORTED,
	"this kernel does not support threads of an interface", NULL};
static const char *const napi_names[] = {"threaded", NULL};

const struct nl_knob_ops nl_knob_ops_napi = {
	.kind = "napi", .names = napi_names, .has_interface = 1, .detail = &napi_file,
	.most = 1,
	.read = nl_knob_file_read, .write = nl_knob_file_write,
};
