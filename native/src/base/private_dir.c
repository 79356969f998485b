#include "base/private_dir.h"

#include <errno.h>
#include <fcntl.h>
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
