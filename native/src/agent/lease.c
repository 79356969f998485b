#include "agent/lease.h"

#include "base/error.h"
#include "base/files.h"
#include "base/request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = 160, FILE_MAX = 40 };

struct lease {
	uint64_t number;
	char controller[NL_CONTROLLER_MAX + 1];
};

static int is_controller_name(const char *text)
{
	size_t len = 0;

	while (text[len] > 32 && text[len] < 127)
		len++;
	return len > 0 && len <= NL_CONTROLLER_MAX && !text[len];
}

/* Parse `NUMBER CONTROLLER BOOT` and a newline; a lease of another boot, or without one, has number 0.
 * 0, or -1. */
static int lease_parse(char *text, const char *boot, struct lease *lease)
{
	char *name = strchr(text, ' '), *end = strchr(text, '\n'), *start;

	if (!name || !end || end < name)
		return -1;
	*name++ = *end = '\0';
	start = name + strcspn(name, " ");
	if (*start)
		*start++ = '\0';
	if (nl_decimal_parse(text, 1, UINT64_MAX, &lease->number) || !is_controller_name(name))
		return -1;
	memcpy(lease->controller, name, strlen(name) + 1);
	if (strcmp(start, boot) != 0)
		lease->number = 0;
	return 0;
}

/* The user's own lease; number 0 without one. NL_OK or an error. */
static int read_lease(int dir, const char *place, const char *file, const char *boot,
		      struct lease *lease, struct nl_err *err)
{
	/* a FIFO must not block */
	int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[TEXT_MAX];
	struct stat st;
	ssize_t len = -1;

	lease->number = 0;
	if (fd < 0 && errno == ENOENT)
		return NL_OK;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		errno = EPERM;
		if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 0022) == 0)
			len = read(fd, text, sizeof(text) - 1);
	}
	nl_close(&fd);
	if (len < 0)
		return nl_fail(err, NL_REFUSED, "the lease %s/%s: %s", place, file,
			       errno == EPERM ? "it is not a file of its owner alone" : strerror(errno));
	text[len] = '\0';
	if (lease_parse(text, boot, lease) < 0)
		return nl_fail(err, NL_REFUSED, "the lease %s/%s: expected NUMBER CONTROLLER BOOT", place,
			       file);
	return NL_OK;
}

int nl_lease_take(const struct nl_lease_request *request, uint64_t *previous, struct nl_err *err)
{
	char file[FILE_MAX], boot[NL_BOOT_MAX], text[TEXT_MAX];
	const char *place = request->directory;
	struct lease found;
	struct stat st;
	int dir, len, code;

	if (!is_controller_name(request->controller))
		return nl_fail_key(err, "controller",
				   "controller: expected 1 to %d printable characters without blanks",
				   NL_CONTROLLER_MAX);
	if (stat("/proc/self/ns/net", &st) < 0)
		return nl_fail(err, NL_REFUSED, "/proc/self/ns/net: %s", strerror(errno));
	snprintf(file, sizeof(file), "lease-%" PRIu64, (uint64_t)st.st_ino);
	dir = nl_private_dir_open(place, 0);
	if (dir < 0)
		return nl_fail(err, NL_REFUSED, "the directory %s for leases: %s", place,
			       nl_private_dir_error(errno));
	nl_boot_id(boot);
	code = read_lease(dir, place, file, boot, &found, err);
	*previous = found.number;
	if (!code && (found.number > request->number ||
		      (found.number == request->number &&
		       strcmp(found.controller, request->controller) != 0)))
		code = nl_fail(err, NL_IN_USE,
			       "lease %" PRIu64 " of controller %s is too old: the host has granted lease "
			       "%" PRIu64 " to controller %s", request->number, request->controller,
			       found.number, found.controller);
	len = snprintf(text, sizeof(text), "%" PRIu64 " %s %s\n", request->number, request->controller, boot);
	if (!code && nl_file_replace(dir, file, text, (size_t)len, 1) < 0)
		code = nl_fail(err, NL_REFUSED, "the lease %s/%s: %s", place, file, strerror(errno));
	close(dir);
	return code;
}
