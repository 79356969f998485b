/* `gensink tune` with system calls that fail on demand.
 *
 * The file named by NL_FAULTS is a shared page of int32: mask of calls, calls to skip, calls to fail
 * (-1: all), errno, number of failures so far. The test writes it; the process and its guard count.
 * Standard streams and what is between the processes never fail. Link with --wrap of every call. */
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { OPEN = 1, READ = 2, WRITE = 4, SYNC = 8, IOCTL = 16, SOCKET = 32, TRUNCATE = 64, UNLINK = 128,
       RENAME = 256, FORK = 512, PIPE = 1024, MEMORY = 2048 };

static _Atomic int32_t *faults;

static int fails(int call)
{
	if (!faults || !(faults[0] & call))
		return 0;
	if (atomic_fetch_sub(&faults[1], 1) > 0)
		return 0;
	if (faults[2] == 0 || (faults[2] > 0 && atomic_fetch_sub(&faults[2], 1) < 1))
		return 0;
	atomic_fetch_add(&faults[4], 1);
	errno = faults[3];
	return 1;
}

static int is_stream(int fd)
{
	struct stat st;

	return fd <= 2 || (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)));
}

/* Callers leave out the mode of an open that creates nothing: whatever is there is passed on. */
#define WRAP(kind, spared, failed, type, name, parameters, ...)                                    \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return !(spared) && fails(kind) ? failed : __real_##name(__VA_ARGS__);             \
	}

WRAP(OPEN, 0, -1, int, open, (const char *path, int flags, mode_t mode), path, flags, mode)
WRAP(OPEN, 0, -1, int, openat, (int dir, const char *path, int flags, mode_t mode), dir, path, flags,
     mode)
WRAP(IOCTL, 0, -1, int, ioctl, (int fd, unsigned long call, void *argument), fd, call, argument)
WRAP(READ, is_stream(fd), -1, ssize_t, read, (int fd, void *to, size_t size), fd, to, size)
WRAP(READ, 0, -1, ssize_t, pread, (int fd, void *to, size_t size, off_t at), fd, to, size, at)
WRAP(WRITE, is_stream(fd), -1, ssize_t, write, (int fd, const void *from, size_t size), fd, from,
     size)
WRAP(SYNC, 0, -1, int, fsync, (int fd), fd)
WRAP(SOCKET, 0, -1, int, socket, (int family, int type, int protocol), family, type, protocol)
WRAP(TRUNCATE, 0, -1, int, ftruncate, (int fd, off_t size), fd, size)
WRAP(UNLINK, 0, -1, int, unlinkat, (int dir, const char *path, int flags), dir, path, flags)
WRAP(RENAME, 0, -1, int, renameat, (int a, const char *from, int b, const char *to), a, from, b, to)
WRAP(FORK, 0, -1, pid_t, fork, (void), )
WRAP(PIPE, 0, -1, int, pipe2, (int ends[2], int flags), ends, flags)
WRAP(MEMORY, 0, NULL, void *, malloc, (size_t size), size)
WRAP(MEMORY, 0, NULL, void *, realloc, (void *old, size_t size), old, size)

int main(int argc, char **argv)
{
	const char *path = getenv("NL_FAULTS");
	int fd = path ? __real_open(path, O_RDWR | O_CLOEXEC, 0) : -1;

	if (fd >= 0) {
		void *page = mmap(NULL, 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (page != MAP_FAILED)
			faults = page;
		close(fd);
	}
	return nl_tune_main(argc, argv);
}
