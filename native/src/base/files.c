#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void nl_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

long nl_read_all(int fd, char *to, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, to + done, len - done);

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0)
			done += (size_t)n;
	}
	return (long)done;
}

int nl_write_all(int fd, const char *from, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, from + done, len - done);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0)
			done += (size_t)n;
	}
	return 0;
}

int nl_file_replace(int dir, const char *name, const char *text, size_t len, int sync)
{
	char fresh[80];
	int fd, failed, err;

	snprintf(fresh, sizeof(fresh), "%s.new", name);
	/* One that a killed process left is of no use. */
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	failed = nl_write_all(fd, text, len) < 0 || (sync && fsync(fd) < 0) || renameat(dir, fresh, dir, name) < 0;
	nl_close(&fd);
	err = errno;
	if (failed)
		unlinkat(dir, fresh, 0);
	errno = err;
	return failed || (sync && fsync(dir) < 0) ? -1 : 0;
}

void nl_boot_id(char to[NL_BOOT_MAX])
{
	long len = nl_file_read("/proc/sys/kernel/random/boot_id", to, NL_BOOT_MAX);

	to[len > 0 ? strcspn(to, "\n") : 0] = '\0';
}

long nl_file_read(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long len;

	if (fd < 0)
		return -1;
	len = nl_read_all(fd, buf, cap);
	if ((size_t)len == cap)
		errno = EFBIG;
	nl_close(&fd);
	if (len < 0 || (size_t)len == cap)
		return -1;
	buf[len] = '\0';
	return len;
}

int nl_private_dir_open(const char *path, int make)
{
	struct stat st;
	int fd;

	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0022) == 0)
		return fd;
	nl_close(&fd);
	errno = EPERM;
	return -1;
}

int nl_run_dir_open(char path[64], int make)
{
	long uid = (long)geteuid();
	int fd;

	if (uid == 0)
		snprintf(path, 64, "/run/netlab");
	else
		snprintf(path, 64, "/run/user/%ld", uid);
	fd = nl_private_dir_open(path, make && uid == 0);
	/* root of a user namespace without a /run of its own, and users without a session of systemd */
	if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == EROFS)) {
		snprintf(path, 64, "/tmp/netlab-%ld", uid);
		fd = nl_private_dir_open(path, make);
	}
	return fd;
}

const char *nl_private_dir_error(int errnum)
{
	return errnum == EPERM ? "it belongs to another user, or others can write it" : strerror(errnum);
}
