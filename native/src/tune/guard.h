/* guard: the dead man's switch of a tuning session.
 *
 * A child in a session of its own, holding nothing of its parent's but what it needs. It reverts
 * the journal when the parent is gone without having ended (its end of a pipe closes, however it
 * died) or was not heard of for hold_ns, and then exits.
 *
 * Exactly one of the two works on the knobs at a time: both take an exclusive flock, on open file
 * descriptions of their own of one memfd, which the kernel drops with its holder. What they agree
 * on is in the memfd's shared page: under the lock the parent sets `ended`, the guard `taken`;
 * whoever comes second sees it and does nothing. A parent that holds the lock and does not move
 * for 5 s after its time is up is killed, for only so can its knobs be put back.
 *
 * All functions are the parent's, called from one thread. */
#ifndef NL_GUARD_H
#define NL_GUARD_H

#include "tune/knob.h"

#include <sys/types.h>

struct nl_guard_shared;

struct nl_guard {
	struct nl_guard_shared *shared;
	uint64_t hold_ns;
	int lock_fd; /* the memfd; -1: not open */
	int pipe_fd; /* closing it wakes the guard */
	pid_t pid;   /* 0: no child */
};

/* Make lock and shared page. 0, or -1 with a reason. */
int nl_guard_open(struct nl_guard *g, uint64_t hold_ns, struct nl_err *why);

/* Fork the child, watching over journal `file` in `dir`. It keeps `keep_fd` open as long as it
 * lives, so that the session's address stays taken until its knobs are back. 0, or -1. */
int nl_guard_start(struct nl_guard *g, int dir, const char *file, int keep_fd,
		   struct nl_err *why);

/* Whether the child still lives; reaps it when not. */
int nl_guard_alive(struct nl_guard *g);

void nl_guard_keepalive(struct nl_guard *g); /* the controller spoke just now */
int nl_guard_lock(struct nl_guard *g);   /* 0, or -1 with errno */
void nl_guard_unlock(struct nl_guard *g);

/* Under the lock: whether the guard took over, and whether it got to the end of it. */
int nl_guard_taken(const struct nl_guard *g);
int nl_guard_finished(const struct nl_guard *g, unsigned *restored, unsigned *conflicts,
		      unsigned *failed);
/* Under the lock: nothing is left for the guard to do. */
void nl_guard_ended(struct nl_guard *g);

/* Wait for the child to go (2 s, then it is killed) and free everything. */
void nl_guard_close(struct nl_guard *g);

#endif
