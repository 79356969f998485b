/* tune_session: one controller's changes to this host, from begin to end.
 *
 * One thread. While it lives it holds the abstract socket @netlab-tune of its network namespace,
 * a journal in dir, and a guard. Every call on a live session takes the guard's lock for its
 * duration, and says NL_SESSION_LOST when the guard was first: then the knobs are back and the
 * session is closed. */
#ifndef NL_TUNE_SESSION_H
#define NL_TUNE_SESSION_H

#include "tune/guard.h"
#include "tune/journal.h"
#include "tune/tune_revert.h"

enum nl_session_code {
	NL_SESSION_OK = 0,
	NL_SESSION_IN_USE,   /* somebody else tunes in this network namespace */
	NL_SESSION_REFUSED,  /* the kernel or the disk said no */
	NL_SESSION_LOST,     /* the guard took over */
	NL_SESSION_INTERNAL,
};

enum nl_set_status {
	NL_SET_APPLIED,
	NL_SET_UNCHANGED, /* it had that value before; nothing was written */
	NL_SET_UNSUPPORTED,
	NL_SET_REFUSED,
	NL_SET_DIFFERS, /* it took the write and reads back as something else */
};

struct nl_watch; /* a knob and the value it should keep having */

struct nl_session {
	int dir;
	struct nl_place place;
	int live;
	int address_fd, journal_fd;
	char file[NL_JOURNAL_FILE_MAX];
	struct nl_journal journal;
	struct nl_guard guard;
	struct nl_watch *watch;
	size_t watches;
	struct nl_revert_sum sum; /* of every revert of this session, the guard's included */
};

struct nl_set_result {
	enum nl_set_status status;
	char old[NL_KNOB_VALUE_MAX + 1], readback[NL_KNOB_VALUE_MAX + 1];
	int has_old, has_readback;
	struct nl_reason why;
};

/* Keeps dir (an fd from nl_journal_dir, not owned). 0, or -1 with errno. */
int nl_session_init(struct nl_session *s, int dir);

enum nl_session_code nl_session_begin(struct nl_session *s, const char *owner, uint64_t hold_ns,
				      struct nl_reason *why);

/* Tell the guard that the controller lives. OK, or LOST; REFUSED when a guard that was killed
 * could not be replaced, with everything reverted. */
enum nl_session_code nl_session_keepalive(struct nl_session *s, struct nl_reason *why);

enum nl_session_code nl_session_set(struct nl_session *s, const struct nl_knob *k,
				    const char *value, struct nl_set_result *out,
				    struct nl_reason *why);

typedef void nl_drift_fn(void *context, const struct nl_knob *k, const char *expected,
			 const char *found);
enum nl_session_code nl_session_verify(struct nl_session *s, nl_drift_fn *report, void *context,
				       unsigned *drifted, struct nl_reason *why);

enum nl_session_code nl_session_revert(struct nl_session *s, nl_reverted_fn *report, void *context,
				       struct nl_revert_sum *sum, struct nl_reason *why);

/* Revert what is left, remove the journal (kept when something could not be put back, for
 * `recover`), disarm the guard, give the address back. The session is closed whatever it returns. */
enum nl_session_code nl_session_end(struct nl_session *s, nl_reverted_fn *report, void *context,
				    struct nl_revert_sum *sum, struct nl_reason *why);

/* The abstract socket; -1 with errno. */
int nl_session_address(void);

#endif
