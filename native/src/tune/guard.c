#include "tune/guard.h"

#include "base/clock.h"
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STUCK_MS = 5000, LEAVE_MS = 2000, DYING_STEPS = 100, STEP_MS = 5 };
enum { ATTEMPTS = 5, ATTEMPT_MS = 200 }; /* of a revert that failed: a shortage may pass */

int nl_guard_open(struct nl_guard *g, uint64_t hold_ns, struct nl_err *why)
{
	memset(g, 0, sizeof(*g));
	g->socket_fd = -1;
	g->hold_ns = hold_ns;
	g->lock_fd = memfd_create("netlab-guard", 0);
	g->shared = mmap(NULL, sizeof(*g->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->shared == MAP_FAILED)
		g->shared = NULL;
	if (g->lock_fd >= 0 && g->shared) {
		nl_guard_keepalive(g);
		return 0;
	}
	nl_fail(why, NL_REFUSED, "cannot allocate the guard's memory: %s", strerror(errno));
	nl_guard_close(g);
	return -1;
}

struct child {
	struct nl_guard_shared *shared;
	uint64_t hold_ns;
	pid_t parent;
	int socket, lock;
	struct nl_host_lock session;
	struct nl_journal journal;
	size_t first;
};

/* Close all descriptors from first on: one by one before Linux 5.9, and where a filter refuses the call. */
static void close_from(int first)
{
	struct rlimit files;
	int max = 65536;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, (unsigned)first, UINT_MAX, 0U) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < (rlim_t)max)
		max = (int)files.rlim_cur;
	for (int fd = first; fd < max; fd++)
		close(fd);
}

/* Close everything else, above all the controller's streams: an SSH session does not end while they
 * are open. */
static void close_others(const struct child *c)
{
	const int stays[] = {c->socket, c->lock, c->journal.dir, c->session.fd};
	enum { STAYS = sizeof(stays) / sizeof(*stays) };
	int end = 0;

	for (int i = 0; i < STAYS; i++)
		end = stays[i] >= end ? stays[i] + 1 : end;
	for (int fd = 0; fd < end; fd++) {
		int i = 0;

		while (i < STAYS && stays[i] != fd)
			i++;
		if (i == STAYS)
			close(fd);
	}
	close_from(end);
	/* Reserve the lowest numbers for /dev/null, so that no later file is a standard stream. */
	for (int fd = open("/dev/null", O_RDWR); fd >= 0 && fd < 2;)
		fd = dup(fd);
}

/* Milliseconds until the guard is due. */
static int due_ms(const struct child *c)
{
	return nl_poll_ms(atomic_load(&c->shared->last_request_ns) + c->hold_ns);
}

/* Returns with the lock taken. */
static void child_lock(const struct child *c, int timed_out)
{
	uint64_t begun = nl_now_ns();

	while (flock(c->lock, LOCK_EX | LOCK_NB) < 0) {
		if (timed_out && nl_now_ns() - begun > STUCK_MS * NL_NS_PER_MS &&
		    getppid() == c->parent)
			kill(c->parent, SIGKILL);
		nl_sleep_ms(STEP_MS);
	}
}

/* 0, or -1 while something is left that another attempt may revert. */
static int child_attempt(struct child *c)
{
	static const struct nl_host_report nobody = {NULL, NULL, NULL};
	struct nl_host_sum sum;

	nl_revert_release();
	if (nl_journal_load(&c->journal) < 0)
		return -1;
	sum = nl_host_revert(&c->journal, c->first, 1, &nobody);
	/* each attempt counts what the one before left open */
	c->shared->sum.of[NL_ABSENT] = c->shared->sum.of[NL_FAILED] = 0;
	nl_revert_sum_add(&c->shared->sum, &sum.knobs);
	c->shared->unrestored = sum.unrestored;
	atomic_store(&c->shared->finished, 1);
	return sum.knobs.of[NL_FAILED] ? -1 : 0;
}

__attribute__((noreturn)) static void child_main(struct child *c)
{
	struct pollfd parent = {.fd = c->socket, .events = POLLIN};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "netlab-guard", 0, 0, 0);
	if (chdir("/") < 0)
		_exit(1);
	for (;;) {
		int left_ms = due_ms(c), timed_out = left_ms == 0;

		if (!timed_out && poll(&parent, 1, left_ms) <= 0)
			continue;
		child_lock(c, timed_out);
		if (atomic_load(&c->shared->ended))
			_exit(0);
		if (timed_out && poll(&parent, 1, 0) == 0 && due_ms(c)) {
			flock(c->lock, LOCK_UN); /* a request arrived during the wait */
			continue;
		}
		atomic_store(&c->shared->taken, 1);
		for (int i = 0; child_attempt(c) < 0 && i + 1 < ATTEMPTS; i++)
			nl_sleep_ms(ATTEMPT_MS);
		/* A parent that lives still has the lock, and releases it at its next request. One that
		 * dies closes its socket a moment before it is gone. */
		for (int i = 0; !timed_out && getppid() == c->parent && i < DYING_STEPS; i++)
			nl_sleep_ms(STEP_MS);
		if (getppid() != c->parent)
			nl_host_lock_release(&c->session);
		_exit(0);
	}
}

int nl_guard_start(struct nl_guard *g, const struct nl_journal *journal, size_t first,
		   const struct nl_host_lock *session, struct nl_err *why)
{
	struct child c = {.shared = g->shared, .hold_ns = g->hold_ns, .parent = getpid(),
			  .lock = -1, .session = *session, .journal = *journal, .first = first};
	int ends[2] = {-1, -1};
	ssize_t n = 0;
	char byte = 0, path[40];
	pid_t pid = -1;

	/* another open file description of the memfd: flock belongs to it; a modprobe inherits the lock */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", g->lock_fd);
	c.lock = open(path, O_RDWR);
	if (c.lock >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0)
		pid = fork();
	if (pid == 0) {
		c.socket = ends[1];
		/* Leave the parent's group and session, and reserve the files of a revert, before
		 * the parent writes a knob. */
		if (setsid() < 0)
			_exit(1);
		nl_revert_release();
		close_others(&c);
		nl_revert_reserve();
		if (write(c.socket, &byte, 1) != 1)
			_exit(1);
		child_main(&c);
	}
	if (pid < 0)
		nl_fail(why, NL_REFUSED, "the guard cannot be started: %s", strerror(errno));
	close(ends[1]);
	close(c.lock);
	while (pid > 0 && (n = read(ends[0], &byte, 1)) < 0 && errno == EINTR)
		;
	if (pid > 0 && n != 1) {
		nl_fail(why, NL_REFUSED, "the guard died at its start");
		waitpid(pid, NULL, 0);
	}
	if (n != 1) {
		close(ends[0]);
		return -1;
	}
	g->socket_fd = ends[0];
	g->pid = pid;
	return 0;
}

int nl_guard_alive(struct nl_guard *g)
{
	if (g->pid == 0)
		return 0;
	if (waitpid(g->pid, NULL, WNOHANG) == 0)
		return 1;
	g->pid = 0;
	nl_close(&g->socket_fd);
	return 0;
}

void nl_guard_keepalive(struct nl_guard *g)
{
	atomic_store(&g->shared->last_request_ns, nl_now_ns());
}

int nl_guard_lock(struct nl_guard *g)
{
	while (flock(g->lock_fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -1;
	return 0;
}

void nl_guard_unlock(struct nl_guard *g)
{
	flock(g->lock_fd, LOCK_UN);
}

void nl_guard_close(struct nl_guard *g)
{
	nl_close(&g->socket_fd);
	for (int ms = 0; g->pid; ms += STEP_MS) {
		if (ms == LEAVE_MS)
			kill(g->pid, SIGKILL);
		if (waitpid(g->pid, NULL, ms < LEAVE_MS ? WNOHANG : 0) != 0)
			g->pid = 0;
		else
			nl_sleep_ms(STEP_MS);
	}
	if (g->shared)
		munmap(g->shared, sizeof(*g->shared));
	g->shared = NULL;
	nl_close(&g->lock_fd);
}
