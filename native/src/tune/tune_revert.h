/* tune_revert: revert the changes of a journal. Used at the end of a session, by the guard, and by
 * `recover`. */
#ifndef NL_TUNE_REVERT_H
#define NL_TUNE_REVERT_H

#include "tune/journal.h"

enum nl_reverted {
	NL_RESTORED, /* it has its old value */
	NL_CONFLICT, /* changed by another process since, or gone: left as found */
	NL_FAILED,   /* it could not be restored */
};

struct nl_revert_sum {
	unsigned restored, conflicts, failed;
};

typedef void nl_reverted_fn(void *context, const struct nl_knob *k, enum nl_reverted status,
			    const char *found, const char *reason);

const char *nl_reverted_word(enum nl_reverted status);

/* Revert one open entry. *found receives the value before; at_once as in nl_entry_is_ours. */
enum nl_reverted nl_revert_entry(const struct nl_entry *e, int at_once, struct nl_value *found,
				 struct nl_err *why);

/* Revert all open entries, newest first, and record each in the journal file fd. A record that
 * cannot be written is harmless: reverting twice changes nothing. report may be NULL. */
struct nl_revert_sum nl_revert_all(struct nl_journal *j, int fd, int at_once,
				   nl_reverted_fn *report, void *context);

#endif
