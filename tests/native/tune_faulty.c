/* `gensink tune` with system calls that fail on demand.
 *
 * The file named by NL_FAULTS is a shared page of int32: mask of calls, calls to skip, calls to fail
 * (-1: all), errno, number of failures so far. The test writes it; the process and its guard count.
 * Standard streams and what is between the processes never fail. Link with --wrap of every call. */
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
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

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	return fails(OPEN) ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	return fails(OPEN) ? -1 : __real_openat(dir, path, flags, mode);
}

int __real_ioctl(int fd, unsigned long call, void *argument);
int __wrap_ioctl(int fd, unsigned long call, void *argument);
int __wrap_ioctl(int fd, unsigned long call, void *argument)
{
	return fails(IOCTL) ? -1 : __real_ioctl(fd, call, argument);
}

#define WRAP(kind, spared, type, name, parameters, ...)                                            \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return !(spared) && fails(kind) ? (type)-1 : __real_##name(__VA_ARGS__);           \
	}

WRAP(READ, is_stream(fd), ssize_t, read, (int fd, void *to, size_t size), fd, to, size)
WRAP(READ, 0, ssize_t, pread, (int fd, void *to, size_t size, off_t at), fd, to, size, at)
WRAP(WRITE, is_stream(fd), ssize_t, write, (int fd, const void *from, size_t size), fd, from, size)
WRAP(SYNC, 0, int, fsync, (int fd), fd)
WRAP(SOCKET, 0, int, socket, (int family, int type, int protocol), family, type, protocol)
WRAP(TRUNCATE, 0, int, ftruncate, (int fd, off_t size), fd, size)
WRAP(UNLINK, 0, int, unlinkat, (int dir, const char *path, int flags), dir, path, flags)
WRAP(RENAME, 0, int, renameat, (int a, const char *from, int b, const char *to), a, from, b, to)
WRAP(FORK, 0, pid_t, fork, (void), )
WRAP(PIPE, 0, int, pipe2, (int ends[2], int flags), ends, flags)

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return fails(MEMORY) ? NULL : __real_malloc(size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
	return fails(MEMORY) ? NULL : __real_realloc(old, size);
}

int main(int argc, char **argv)
{
	const char *path = getenv("NL_FAULTS");
	int fd = path ? __real_open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd >= 0) {
		void *page = mmap(NULL, 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (page != MAP_FAILED)
			faults = page;
		close(fd);
	}
	return nl_tune_main(argc, argv);
}
