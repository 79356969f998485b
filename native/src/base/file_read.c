#include "base/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

long nl_file_read(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	int saved;

	if (fd < 0)
		return -1;
	for (;;) {
		ssize_t n;

		if (len + 1 >= cap) {
			n = -1;
			errno = EFBIG;
		} else {
			n = read(fd, buf + len, cap - 1 - len);
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			saved = errno;
			close(fd);
			errno = saved;
			return -1;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	buf[len] = '\0';
	return (long)len;
}
