/* host_restore: revert a journal so that the host is as before the session, and report what is not.
 *
 * Many knobs change more than their own value: an MTU those of the interfaces above, IPv6's, and metrics of
 * routes; an IPv6 that was off for a moment has lost its addresses. So a record tune-INODE-COOKIE.state beside
 * the journal has the state of the host (host_state.h) from before the first change, and as the changes that
 * have side effects left it. A revert restores the knobs, then what differs from the state before, in rounds,
 * since one restored item may change another. What another program changed in between stays as
 * found. Every difference that remains is reported; of knobs of the journal, the journal reports.
 *
 * The record ends with the journal. One that a guard leaves names what it could not restore: the next
 * nl_host_recover() reports that. Only the process with the lock of the session reads or writes it. */
#pragma once

#include "tune/host_state.h"
#include "tune/tune_revert.h"

/* was, now: NULL if it was or is not there. */
typedef void nl_changed_fn(void *context, const char *what, const char *was, const char *now);

struct nl_host_report {
	nl_reverted_fn *reverted; /* may be NULL */
	nl_changed_fn *changed;   /* may be NULL: what remains stays in the record */
	void *context;
};

struct nl_host_sum {
	struct nl_revert_sum knobs;
	unsigned unrestored; /* differences that remain */
	unsigned uncompared; /* bits of nl_state_kind */
};

/* Record the state before the first change. 0, or -1 with errno. */
int nl_host_record_before(const struct nl_journal *j);
/* Around a change with side effects: what differs after it is the session's own. *seen is for the end, which
 * frees it, and passes what differs but for the knobs of the journal to `changed`, unless that is NULL.
 * 0, or -1 with errno and nothing to end. If the process dies in between, every difference counts
 * as the session's own. */
int nl_host_change_begin(const struct nl_journal *j, struct nl_state *seen);
void nl_host_change_end(const struct nl_journal *j, struct nl_state *seen, nl_changed_fn *changed, void *context);

/* The states of a record, as its file has them; free both. 0, or -1 with both empty. Pure. */
int nl_host_record_parse(const char *text, size_t len, struct nl_state *before, struct nl_state *after);

/* True if a record is there. */
int nl_host_recorded(const struct nl_journal *j);

/* Revert the entries from number `first` on, as nl_revert_all, and restore the state. */
struct nl_host_sum nl_host_revert(struct nl_journal *j, size_t first, int at_once,
				  const struct nl_host_report *report);
