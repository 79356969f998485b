#include "base/host_lock.h"

#include "base/error.h"
#include "base/files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 100, HOLDER_MAX = 320 };
enum { REFUSED_MAX = 4096 }; /* refused processes that one holder can be named to */

/* fgetpwent() instead of getpwuid(), which a static binary cannot use. */
static void user_name(uid_t uid, char *name, size_t size)
{
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *entry;

	snprintf(name, size, "%ld", (long)uid);
	while (users && (entry = fgetpwent(users)) != NULL) {
		if (entry->pw_uid == uid) {
			snprintf(name, size, "%.32s", entry->pw_name);
			break;
		}
	}
	if (users)
		fclose(users);
}

static int write_holder(int fd)
{
	/* sudo and sshd say who asked */
	const char *by = getenv("SUDO_USER"), *client = getenv("SSH_CLIENT");
	char user[40], since[40], from[48] = "", line[HOLDER_MAX];
	unsigned char address[sizeof(struct in6_addr)];
	time_t now = time(NULL);
	struct tm utc;
	int len;

	user_name(geteuid(), user, sizeof(user));
	if (client) {
		snprintf(from, sizeof(from), "%.*s", (int)strcspn(client, " "), client);
		if (inet_pton(AF_INET, from, address) != 1 && inet_pton(AF_INET6, from, address) != 1)
			from[0] = '\0';
	}
	gmtime_r(&now, &utc);
	strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S UTC", &utc);
	len = snprintf(line, sizeof(line), "%ld process %ld of user %s%s%.32s%s%s since %s",
		       (long)getpid(), (long)getpid(), user, by ? ", for " : "", by ? by : "",
		       from[0] ? ", from " : "", from, since);
	if (len < 0 || (size_t)len >= sizeof(line) || ftruncate(fd, 0) < 0)
		return -1;
	return pwrite(fd, line, (size_t)len, 0) == len ? 0 : -1;
}

/* True if a signal has stopped the process, which then keeps its lock. */
static int is_stopped(long pid)
{
	char path[40], text[1024];
	const char *name_end;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	name_end = nl_file_read(path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
	return name_end && strncmp(name_end, ") T", 3) == 0;
}

/* Fail with the holder, of whom `by` says what is known: empty, or with its process id. */
static int in_use(const char *what, const char *by, long pid, struct nl_err *err)
{
	char stopped[80] = "";

	if (pid > 0 && is_stopped(pid)) /* first, since a message has a limit */
		snprintf(stopped, sizeof(stopped), ", and is stopped (`kill -CONT %ld` lets it end)", pid);
	return nl_fail(err, NL_IN_USE, "%s this network namespace%s%s%s%s", what, stopped, *by ? ": " : "", by,
		       pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH
			       ? "; it died, and its guard is reverting its changes"
			       : "");
}

static int file_in_use(int fd, const char *what, struct nl_err *err)
{
	char line[HOLDER_MAX] = "", *holder;
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	long pid;

	line[n > 0 ? n : 0] = '\0';
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
			*c = '?';
	pid = strtol(line, &holder, 10);
	return pid > 0 && *holder == ' ' ? in_use(what, holder + 1, pid, err) : in_use(what, "", 0, err);
}

/* NL_OK, an error, or -1: the file or directory was removed meanwhile. */
static int lock_attempt(struct nl_host_lock *lock, const struct nl_host_lock_kind *kind,
			unsigned long long netns, struct nl_err *err)
{
	char directory[64], file[48];
	int dir = nl_run_dir_open(directory, 1), code = NL_OK;
	struct stat mine, named;

	if (dir < 0)
		return nl_fail(err, NL_REFUSED, "the directory %s for locks: %s", directory,
			       nl_private_dir_error(errno));
	snprintf(file, sizeof(file), "%s-%llu.lock", kind->name, netns);
	snprintf(lock->path, sizeof(lock->path), "%s/%s", directory, file);
	lock->fd = openat(dir, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock->fd < 0)
		code = errno == ENOENT ? -1 : NL_REFUSED;
	else if (flock(lock->fd, LOCK_EX | LOCK_NB) < 0)
		code = errno == EWOULDBLOCK ? NL_IN_USE : NL_REFUSED;
	else if (fstat(lock->fd, &mine) < 0 ||
		 fstatat(dir, file, &named, AT_SYMLINK_NOFOLLOW) < 0 || mine.st_ino != named.st_ino)
		code = -1;
	else if (write_holder(lock->fd) < 0)
		code = NL_REFUSED;
	if (code == NL_REFUSED)
		nl_fail(err, code, "the lock %s: %s", lock->path, strerror(errno));
	if (code == NL_IN_USE)
		file_in_use(lock->fd, kind->what, err);
	if (code)
		nl_close(&lock->fd);
	close(dir);
	return code;
}

/* The process that listens at the name, as the kernel knows it. */
static int name_in_use(const struct sockaddr_un *address, socklen_t len, const char *what,
		       struct nl_err *err)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), known;
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	char user[40], by[80];

	known = fd >= 0 && connect(fd, (const struct sockaddr *)address, len) == 0 &&
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
	nl_close(&fd);
	if (!known)
		return in_use(what, "", 0, err);
	user_name(peer.uid, user, sizeof(user));
	if (peer.pid <= 0) /* of another process namespace */
		snprintf(by, sizeof(by), "a process of user %s", user);
	else
		snprintf(by, sizeof(by), "process %ld of user %s", (long)peer.pid, user);
	return in_use(what, by, peer.pid, err);
}

static int take_abstract_name(struct nl_host_lock *lock, const struct nl_host_lock_kind *kind,
		     struct nl_err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t len = offsetof(struct sockaddr_un, sun_path) + 1; /* abstract: a NUL, then the name */
	int code;

	len += (socklen_t)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "netlab-%s",
				   kind->name);
	lock->name_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (lock->name_fd >= 0 && bind(lock->name_fd, (struct sockaddr *)&address, len) == 0 &&
	    listen(lock->name_fd, REFUSED_MAX) == 0)
		return NL_OK;
	code = errno == EADDRINUSE ? name_in_use(&address, len, kind->what, err)
				   : nl_fail(err, NL_REFUSED, "the abstract socket netlab-%s: %s",
					     kind->name, strerror(errno));
	nl_close(&lock->name_fd);
	return code;
}

int nl_host_lock_take(struct nl_host_lock *lock, const struct nl_host_lock_kind *kind,
		      struct nl_err *err)
{
	struct stat st;
	int code = -1;

	lock->fd = lock->name_fd = -1;
	if (stat("/proc/self/ns/net", &st) < 0)
		return nl_fail(err, NL_REFUSED, "/proc/self/ns/net: %s", strerror(errno));
	for (int i = 0; i < ATTEMPTS && code == -1; i++)
		code = lock_attempt(lock, kind, (unsigned long long)st.st_ino, err);
	if (code == -1)
		return in_use(kind->what, "", 0, err);
	if (code == NL_OK && kind->of_all_users)
		code = take_abstract_name(lock, kind, err);
	if (code)
		nl_host_lock_release(lock);
	return code;
}

void nl_host_lock_note(const struct nl_host_lock *lock, const char *controller, uint64_t number)
{
	char line[HOLDER_MAX];
	int len;

	if (lock->fd < 0 || write_holder(lock->fd) < 0)
		return; /* the lock counts, not its text */
	len = snprintf(line, sizeof(line), ", for controller %s, lease %llu", controller,
		       (unsigned long long)number);
	lseek(lock->fd, 0, SEEK_END);
	if (write(lock->fd, line, (size_t)len) != len)
		return;
}

void nl_host_lock_release(struct nl_host_lock *lock)
{
	if (lock->fd < 0)
		return;
	nl_close(&lock->name_fd); /* before the file: its next holder takes the name */
	unlink(lock->path);
	if (strncmp(lock->path, "/tmp/", 5) == 0) {
		char directory[sizeof(lock->path)];

		snprintf(directory, sizeof(directory), "%s", lock->path);
		*strrchr(directory, '/') = '\0';
		rmdir(directory); /* fails while another lock is in it */
	}
	flock(lock->fd, LOCK_UN);
	nl_close(&lock->fd);
}
