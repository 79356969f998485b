/* tune_session: one controller's changes to this host, from begin to end.
 *
 * One thread. A live session has the lock of its network namespace, a journal in dir, and a
 * guard. Every call on it takes the guard's lock. The error NL_TIMEOUT means
 * that the guard took over: the knobs are reverted and the session is closed. */
#ifndef NL_TUNE_SESSION_H
#define NL_TUNE_SESSION_H

#include "tune/guard.h"
#include "tune/journal.h"
#include "tune/tune_revert.h"

enum nl_set_status {
	NL_SET_APPLIED,
	NL_SET_UNCHANGED, /* it had that value already; nothing was written */
	NL_SET_UNSUPPORTED,
	NL_SET_REFUSED,
	NL_SET_DIFFERS, /* the write succeeded, but it reads back differently */
};

struct nl_watch; /* a knob and its expected value */

struct nl_session {
	int dir;
	struct nl_place place;
	int live;
	struct nl_host_lock lock;
	int journal_fd;
	char file[NL_JOURNAL_FILE_MAX];
	struct nl_journal journal;
	struct nl_journal left; /* knobs that stale journals list as not reverted */
	struct nl_guard guard;
	struct nl_watch *watch;
	size_t watches;
	struct nl_revert_sum sum; /* of every revert of this session, the guard's included */
};

struct nl_set_result {
	enum nl_set_status status;
	char old[NL_KNOB_VALUE_MAX + 1], readback[NL_KNOB_VALUE_MAX + 1];
	int has_old, has_readback;
	struct nl_err why;
};

/* Uses dir (an fd from nl_journal_dir, not owned). 0, or -1 with errno. */
int nl_session_init(struct nl_session *s, int dir);

/* Refused if a stale journal is damaged. A knob that a stale journal still has cannot be set before
 * `recover`: its value is netlab's, not an original. */
int nl_session_begin(struct nl_session *s, const char *owner, uint64_t hold_ns,
				      struct nl_err *why);

/* Restart the hold time. NL_OK or NL_TIMEOUT; NL_REFUSED if a dead guard could not be replaced,
 * with everything reverted. */
int nl_session_keepalive(struct nl_session *s, struct nl_err *why);

int nl_session_set(struct nl_session *s, const struct nl_knob *k,
				    const char *value, struct nl_set_result *out,
				    struct nl_err *why);

typedef void nl_drift_fn(void *context, const struct nl_knob *k, const char *expected,
			 const char *found);
int nl_session_verify(struct nl_session *s, nl_drift_fn *report, void *context,
				       unsigned *drifted, struct nl_err *why);

int nl_session_revert(struct nl_session *s, nl_reverted_fn *report, void *context,
				       struct nl_revert_sum *sum, struct nl_err *why);

/* Revert the remaining changes, remove the journal (unless a revert failed: it stays for
 * `recover`), disarm the guard, release the lock. Closes the session whatever it returns. */
int nl_session_end(struct nl_session *s, nl_reverted_fn *report, void *context,
				    struct nl_revert_sum *sum, struct nl_err *why);

/* Take the lock of the processes that tune. NL_OK, NL_IN_USE or NL_REFUSED. */
int nl_session_lock(struct nl_host_lock *lock, struct nl_err *err);

#endif
