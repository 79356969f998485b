#include "base/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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

long nl_file_read(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), saved;
	long len;

	if (fd < 0)
		return -1;
	len = nl_read_all(fd, buf, cap);
	saved = len < 0 ? errno : EFBIG;
	close(fd);
	errno = saved;
	if (len < 0 || (size_t)len == cap)
		return -1;
	buf[len] = '\0';
	return len;
}
