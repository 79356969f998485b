/* guard: the watchdog of a tuning session.
 *
 * A child process in a session of its own, with no other descriptors of its parent open. It reverts
 * the journal and exits, when the parent has died without ending the session (its end of a socket
 * closes) or has sent no keepalive for hold_ns.
 *
 * Parent and guard exclude each other with an exclusive flock, on separate open file descriptions
 * of one memfd; the kernel releases it with its holder. A modprobe of either inherits it, so that the
 * other one waits for what it is about to do. A shared page has their state:
 * under the lock the parent sets `ended`, the guard `taken`, and the other one then does nothing. A
 * parent that still has the lock 5 s after the timeout is killed, since its knobs cannot be
 * reverted otherwise.
 *
 * The parent calls all functions, from one thread. */
#pragma once

#include "base/host_lock.h"
#include "tune/host_restore.h"

#include <stdatomic.h>
#include <sys/types.h>

/* The page that parent and guard share. All but the time is for the holder of the lock. */
struct nl_guard_shared {
	_Atomic uint64_t last_request_ns;
	_Atomic int ended, taken;
	_Atomic int finished;     /* the guard has reverted; before it the sum is not whole */
	struct nl_revert_sum sum; /* of the guard */
	unsigned unrestored;      /* differences of the host that remain */
};

struct nl_guard {
	struct nl_guard_shared *shared;
	uint64_t hold_ns;
	int lock_fd; /* the memfd; -1: not open */
	int socket_fd; /* closing it wakes the guard */
	pid_t pid;   /* 0: no child */
};

/* Create the lock and the shared page. 0, or -1 with a reason. */
int nl_guard_open(struct nl_guard *g, uint64_t hold_ns, struct nl_err *why);

/* Fork the child, which reverts the entries of the journal from number `first` on. It inherits the
 * session's lock, which stays taken until the knobs are reverted. 0, or -1. */
int nl_guard_start(struct nl_guard *g, const struct nl_journal *journal, size_t first,
		   const struct nl_host_lock *session, struct nl_err *why);

/* True if the child is alive; reaps a dead one. */
int nl_guard_alive(struct nl_guard *g);

void nl_guard_keepalive(struct nl_guard *g); /* restart the hold time */
int nl_guard_lock(struct nl_guard *g);   /* 0, or -1 with errno */
void nl_guard_unlock(struct nl_guard *g);

/* Wait up to 2 s for the child to exit, then kill it; free everything. */
void nl_guard_close(struct nl_guard *g);
