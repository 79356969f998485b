#include "agent/lease.h"

#include "base/error.h"
#include "base/private_dir.h"
#include "base/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = 128, FILE_MAX = 40 };

struct lease {
	uint64_t number;
	char controller[NL_CONTROLLER_MAX + 1];
};

static int is_name(const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || len > NL_CONTROLLER_MAX)
		return 0;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 33 || (unsigned char)*c > 126)
			return 0;
	return 1;
}

/* 0, 1: there is no file, -1: the file cannot be read or has other text (errno 0). */
static int read_lease(int dir, const char *file, struct lease *lease)
{
	int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[TEXT_MAX], *blank, *end;
	ssize_t len;

	if (fd < 0)
		return errno == ENOENT ? 1 : -1;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len < 0)
		return -1;
	errno = 0;
	text[len] = '\0';
	blank = strchr(text, ' ');
	end = strchr(text, '\n');
	if (!blank || !end || end < blank)
		return -1;
	*blank = *end = '\0';
	if (nl_decimal_parse(text, 1, UINT64_MAX, &lease->number) || !is_name(blank + 1))
		return -1;
	snprintf(lease->controller, sizeof(lease->controller), "%.*s", NL_CONTROLLER_MAX, blank + 1);
	return 0;
}

/* Replace the file so that a crash leaves the old text or the new one. 0, or -1 with errno. */
static int write_lease(int dir, const char *file, const struct lease *lease)
{
	char text[TEXT_MAX], partial[FILE_MAX + 8];
	int len = snprintf(text, sizeof(text), "%llu %s\n", (unsigned long long)lease->number,
			   lease->controller);
	int fd, failed;

	snprintf(partial, sizeof(partial), "%s.new", file);
	fd = openat(dir, partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	errno = ENOSPC; /* of a short write */
	failed = write(fd, text, (size_t)len) != len || fsync(fd) < 0;
	close(fd);
	if (failed || renameat(dir, partial, dir, file) < 0)
		return -1;
	return fsync(dir);
}

static int take(int dir, const char *file, const struct lease *wanted, uint64_t *previous,
		struct nl_err *err)
{
	struct lease found = {0};
	int there = read_lease(dir, file, &found);

	if (there < 0)
		return nl_fail(err, NL_REFUSED, "the lease %s: %s", file,
			       errno ? strerror(errno) : "expected NUMBER CONTROLLER");
	*previous = there ? 0 : found.number;
	if (!there && (found.number > wanted->number ||
		       (found.number == wanted->number &&
			strcmp(found.controller, wanted->controller) != 0)))
		return nl_fail(err, NL_IN_USE, "lease %llu of controller %s is too old: the host has "
					       "granted lease %llu to controller %s",
			       (unsigned long long)wanted->number, wanted->controller,
			       (unsigned long long)found.number, found.controller);
	if (write_lease(dir, file, wanted) < 0)
		return nl_fail(err, NL_REFUSED, "the lease %s: %s", file, strerror(errno));
	return NL_OK;
}

int nl_lease_take(const char *directory, const char *controller, uint64_t number,
		  uint64_t *previous, struct nl_err *err)
{
	struct lease wanted = {.number = number};
	char file[FILE_MAX];
	struct stat st;
	int dir, code;

	if (!is_name(controller))
		return nl_fail_key(err, "controller",
				   "controller: expected 1 to %d printable characters without blanks",
				   NL_CONTROLLER_MAX);
	if (stat("/proc/self/ns/net", &st) < 0)
		return nl_fail(err, NL_REFUSED, "/proc/self/ns/net: %s", strerror(errno));
	snprintf(wanted.controller, sizeof(wanted.controller), "%s", controller);
	snprintf(file, sizeof(file), "lease-%llu", (unsigned long long)st.st_ino);
	dir = nl_private_dir_open(directory, 0);
	if (dir < 0)
		return nl_fail(err, NL_REFUSED, "the directory %s for leases: %s", directory,
			       errno == EPERM ? "it belongs to another user, or others can write it"
					      : strerror(errno));
	code = take(dir, file, &wanted, previous, err);
	close(dir);
	return code;
}
