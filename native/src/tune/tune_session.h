/* tune_session: one controller's changes to this host, from begin to end.
 *
 * One thread. A live session has the lock of its network namespace, a journal, and a guard. The error
 * NL_TIMEOUT means that the guard took over: the knobs are reverted and the session is closed. */
#pragma once

#include "tune/guard.h"
#include "tune/journal.h"
#include "tune/host_restore.h"

/* A knob and its expected value. */
struct nl_watch {
	struct nl_knob knob;
	struct nl_value value;
};

struct nl_session {
	int live;
	struct nl_host_lock lock;
	struct nl_journal journal;
	size_t left; /* the first entries of the journal, of sessions that died */
	struct nl_guard guard;
	struct nl_watch *watch;
	size_t watches;
	int recorded; /* the state of the host before the first change */
	struct nl_revert_sum sum; /* of every revert of this session, the guard's included */
};

/* The number of knobs that sessions which died left in the journal; 1 if it cannot be read. */
unsigned nl_session_init(struct nl_session *s);

/* A knob that a session which died left in the journal cannot be set before `recover`: its value is
 * netlab's, not an original. */
int nl_session_begin(struct nl_session *s, uint64_t hold_ns, struct nl_err *why);

/* Take the guard's lock, which the calls below need, and ensure that the guard is alive. NL_OK;
 * NL_BAD_REQUEST without a session; NL_TIMEOUT; or NL_REFUSED if a dead guard could not be replaced, with
 * everything reverted. */
int nl_session_enter(struct nl_session *s, struct nl_err *why);
void nl_session_leave(struct nl_session *s); /* also restarts the hold time */

/* Restart the hold time, if there is a session. As nl_session_enter. */
int nl_session_keepalive(struct nl_session *s, struct nl_err *why);

typedef void nl_drift_fn(void *context, const struct nl_knob *k, const char *expected,
			 const char *found);
/* The number of knobs that differ from their written value. */
unsigned nl_session_verify(struct nl_session *s, nl_drift_fn *report, void *context);

struct nl_host_sum nl_session_revert(struct nl_session *s, const struct nl_host_report *report);

/* Revert the remaining changes (one that fails stays in the journal for `recover`), disarm the guard,
 * release the lock. Takes the guard's lock itself. Closes the session whatever it returns. */
int nl_session_end(struct nl_session *s, const struct nl_host_report *report, struct nl_host_sum *sum,
		   struct nl_err *why);

/* Revert what sessions that died left in the journal; refused if one is open. */
int nl_session_recover(struct nl_session *s, const struct nl_host_report *report, struct nl_host_sum *sum,
		       struct nl_err *why);
