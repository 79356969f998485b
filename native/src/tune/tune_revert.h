/* tune_revert: putting back what a journal says was changed. The same for the session that
 * ends, for the guard, and for the next session that finds a stale journal. */
#ifndef NL_TUNE_REVERT_H
#define NL_TUNE_REVERT_H

#include "tune/journal.h"

enum nl_reverted {
	NL_RESTORED, /* it has its old value */
	NL_CONFLICT, /* somebody else changed it since, or it is gone: left as found */
	NL_FAILED,   /* it could not be put back */
};

struct nl_revert_sum {
	unsigned restored, conflicts, failed;
};

typedef void nl_reverted_fn(void *context, const struct nl_knob *k, enum nl_reverted status,
			    const char *found, const char *reason);

const char *nl_reverted_word(enum nl_reverted status);

/* Put back one entry that is not done. `found` gets the value before; at_once as in
 * nl_entry_is_ours. */
enum nl_reverted nl_revert_entry(const struct nl_entry *e, int at_once, struct nl_value *found,
				 struct nl_err *why);

/* Put back all that is not done, the newest first, noting each in the journal file fd (a note
 * that cannot be written is harmless: reverting twice changes nothing). report may be NULL. */
struct nl_revert_sum nl_revert_all(struct nl_journal *j, int fd, int at_once,
				   nl_reverted_fn *report, void *context);

#endif
