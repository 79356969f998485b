#include "base/private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	close(fd);
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
