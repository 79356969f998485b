#include "agent/lease.h"

#include "base/error.h"
#include "base/private_dir.h"
#include "base/request.h"
#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = 128, FILE_MAX = 40, PLACE_MAX = 64 };

static const char of_user[] = "netlab-leases-"; /* and the user's number */

struct lease {
	uint64_t number;
	char controller[NL_CONTROLLER_MAX + 1];
	char place[PLACE_MAX]; /* directory it was read from, for messages; empty: the user's own */
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

/* 0, 1: there is no file, -1: the file cannot be read or has other text (errno 0), or does not belong
 * to the owner alone (EPERM). */
static int read_lease(int dir, const char *file, uid_t owner, struct lease *lease)
{
	/* a FIFO must not block */
	int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[TEXT_MAX], *blank, *end;
	struct stat st;
	ssize_t len;

	if (fd < 0)
		return errno == ENOENT ? 1 : -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != owner ||
	    (st.st_mode & 0022) != 0) {
		close(fd);
		errno = EPERM;
		return -1;
	}
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

static int unreadable(struct nl_err *err, const char *directory, const char *place, const char *file)
{
	return nl_fail(err, NL_REFUSED, "the lease %s/%s%s%s: %s", directory, place, *place ? "/" : "",
		       file,
		       errno == EPERM ? "it is not a file of its owner alone"
		       : errno        ? strerror(errno)
				      : "expected NUMBER CONTROLLER");
}

/* Replace the file so that a crash leaves the old text or the new one. 0, or -1 with errno. */
static int write_lease(int dir, const char *file, const struct lease *lease, mode_t mode)
{
	char text[TEXT_MAX], partial[FILE_MAX + 8];
	int len = snprintf(text, sizeof(text), "%llu %s\n", (unsigned long long)lease->number,
			   lease->controller);
	int fd, failed;

	snprintf(partial, sizeof(partial), "%s.new", file);
	fd = openat(dir, partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -1;
	errno = ENOSPC; /* of a short write */
	failed = write(fd, text, (size_t)len) != len || fchmod(fd, mode) < 0 || fsync(fd) < 0;
	close(fd);
	if (failed || renameat(dir, partial, dir, file) < 0)
		return -1;
	return fsync(dir);
}

/* -- the directory that users share ---------------------------------------------- */

struct shared {
	int dir;
	const char *path;
};

/* Of root or of this user, and nobody can rename what belongs to another there. */
static int open_shared(struct shared *shared)
{
	int fd = open(shared->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	shared->dir = fd;
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	    ((st.st_mode & 0022) == 0 || (st.st_mode & S_ISVTX) != 0))
		return 0;
	close(fd);
	shared->dir = -1;
	errno = EPERM;
	return -1;
}

static int find_shared(const char *given, struct shared *shared)
{
	/* Root of a user namespace may see a /var/tmp of the machine, whose owner it cannot verify. */
	shared->path = "/run";
	if (!given && geteuid() == 0 && !nl_in_first_user_namespace() && open_shared(shared) == 0)
		return 0;
	shared->path = given ? given : "/var/tmp";
	if (open_shared(shared) == 0)
		return 0;
	if (given)
		return -1;
	shared->path = "/tmp";
	return open_shared(shared);
}

/* The directory of a user below the shared one, or -1. What others can write does not count, nor what
 * its owner hides. */
static int open_of_user(int shared, const char *name, uid_t uid)
{
	int dir = openat(shared, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (dir < 0)
		return -1;
	if (fstat(dir, &st) == 0 && st.st_uid == uid && (st.st_mode & 0022) == 0)
		return dir;
	close(dir);
	errno = EPERM;
	return -1;
}

/* Raise *found to the lease of one user. NL_OK or an error. */
static int raise_to(const struct shared *shared, const char *name, const char *file,
		    struct lease *found, struct nl_err *err)
{
	struct lease other = {0};
	uint64_t uid;
	int dir, there;

	if (strncmp(name, of_user, sizeof(of_user) - 1) != 0 ||
	    nl_decimal_parse(name + sizeof(of_user) - 1, 0, UINT32_MAX, &uid))
		return NL_OK;
	dir = open_of_user(shared->dir, name, (uid_t)uid);
	if (dir < 0)
		return NL_OK;
	there = read_lease(dir, file, (uid_t)uid, &other);
	close(dir);
	if (there < 0 && errno != EACCES)
		return unreadable(err, shared->path, name, file);
	if (there == 0 && other.number > found->number) {
		*found = other;
		snprintf(found->place, sizeof(found->place), "%.*s", PLACE_MAX - 1, name);
	}
	return NL_OK;
}

static int raise_to_all(const struct shared *shared, const char *file, struct lease *found,
			struct nl_err *err)
{
	int fd = openat(shared->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = NL_OK;
	DIR *names = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!names) {
		code = nl_fail(err, NL_REFUSED, "the shared directory %s of leases: %s",
			       shared->path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return code;
	}
	while (code == NL_OK && (entry = readdir(names)) != NULL)
		code = raise_to(shared, entry->d_name, file, found, err);
	closedir(names);
	return code;
}

/* 0, or -1 with errno. */
static int publish(int shared, const char *file, const struct lease *lease)
{
	char name[PLACE_MAX];
	int dir, failed;

	snprintf(name, sizeof(name), "%s%ld", of_user, (long)geteuid());
	if (mkdirat(shared, name, 0755) < 0 && errno != EEXIST)
		return -1;
	dir = open_of_user(shared, name, geteuid());
	if (dir < 0)
		return -1;
	failed = fchmod(dir, 0755) < 0 || write_lease(dir, file, lease, 0644) < 0;
	close(dir);
	return failed ? -1 : 0;
}

/* -- a request ----------------------------------------------------------------------- */

static int take(int dir, const struct shared *shared, const char *file,
		const struct nl_lease_request *request, uint64_t *previous, struct nl_err *err)
{
	struct lease found = {0}, wanted = {.number = request->number};
	int code;

	snprintf(wanted.controller, sizeof(wanted.controller), "%s", request->controller);
	if (read_lease(dir, file, geteuid(), &found) < 0)
		return unreadable(err, request->directory, "", file);
	code = raise_to_all(shared, file, &found, err);
	if (code)
		return code;
	*previous = found.number;
	if (found.number > wanted.number ||
	    (found.number == wanted.number && strcmp(found.controller, wanted.controller) != 0))
		return nl_fail(err, NL_IN_USE,
			       "lease %llu of controller %s is too old: the host has granted lease "
			       "%llu to controller %s%s%s%s%s",
			       (unsigned long long)wanted.number, wanted.controller,
			       (unsigned long long)found.number, found.controller,
			       *found.place ? ", recorded in " : "",
			       *found.place ? shared->path : "", *found.place ? "/" : "", found.place);
	if (write_lease(dir, file, &wanted, 0600) < 0)
		return nl_fail(err, NL_REFUSED, "the lease %s/%s: %s", request->directory, file,
			       strerror(errno));
	if (publish(shared->dir, file, &wanted) < 0)
		return nl_fail(err, NL_REFUSED, "the lease %s/%s%ld/%s: %s", shared->path, of_user,
			       (long)geteuid(), file,
			       errno == EPERM ? "it belongs to another user, or others can write it"
					      : strerror(errno));
	return NL_OK;
}

int nl_lease_take(const struct nl_lease_request *request, uint64_t *previous, struct nl_err *err)
{
	struct shared shared = {.dir = -1};
	char file[FILE_MAX];
	struct stat st;
	int dir, code;

	if (!is_name(request->controller))
		return nl_fail_key(err, "controller",
				   "controller: expected 1 to %d printable characters without blanks",
				   NL_CONTROLLER_MAX);
	if (stat("/proc/self/ns/net", &st) < 0)
		return nl_fail(err, NL_REFUSED, "/proc/self/ns/net: %s", strerror(errno));
	snprintf(file, sizeof(file), "lease-%llu", (unsigned long long)st.st_ino);
	dir = nl_private_dir_open(request->directory, 0);
	if (dir < 0)
		return nl_fail(err, NL_REFUSED, "the directory %s for leases: %s", request->directory,
			       errno == EPERM ? "it belongs to another user, or others can write it"
					      : strerror(errno));
	if (find_shared(request->shared, &shared) < 0)
		code = nl_fail(err, NL_REFUSED, "the shared directory %s of leases: %s", shared.path,
			       errno == EPERM ? "it belongs to another user, or has no sticky bit"
					      : strerror(errno));
	else
		code = take(dir, &shared, file, request, previous, err);
	if (shared.dir >= 0)
		close(shared.dir);
	close(dir);
	return code;
}
