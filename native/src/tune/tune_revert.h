/* tune_revert: revert the changes of a journal. Used at the end of a session, by the guard, and by
 * `recover`. */
#pragma once

#include "tune/journal.h"

enum nl_reverted {
	NL_RESTORED, /* it has its old value */
	NL_CONFLICT, /* changed by another process since: left as found */
	NL_ABSENT,   /* its interface or setting is not there now: stays in the journal */
	NL_FAILED,   /* it could not be read or restored: stays in the journal */
	NL_REVERTED_CODES,
};

struct nl_revert_sum {
	unsigned of[NL_REVERTED_CODES]; /* number of knobs */
};

void nl_revert_sum_add(struct nl_revert_sum *sum, const struct nl_revert_sum *more);

typedef void nl_reverted_fn(void *context, const struct nl_knob *k, enum nl_reverted status,
			    const char *found, const char *reason);

const char *nl_reverted_word(enum nl_reverted status);
/* True if the entry may leave the journal. */
int nl_reverted_done(enum nl_reverted status);

/* Revert one entry. *found receives the value before; at_once as in nl_entry_is_ours. Releases
 * the spare descriptors: call nl_revert_reserve afterwards. */
enum nl_reverted nl_revert_entry(const struct nl_entry *e, int at_once, struct nl_value *found,
				 struct nl_err *why);

/* Revert the entries from number `first` on: net.core.default_qdisc, by which the kernel chooses in place
 * of a qdisc that is deleted, then the rest, newest first. What is done leaves *j and its file; a save
 * that fails is harmless, since reverting twice changes nothing. report may be NULL. */
struct nl_revert_sum nl_revert_all(struct nl_journal *j, size_t first, int at_once, nl_reverted_fn *report,
				   void *context);

/* Release the reserved descriptors, before opening files. */
void nl_revert_release(void);
/* Reserve descriptors for reverting; call it early, so that they have low numbers and stay below a
 * limit that is lowered later. Does nothing if they are reserved. */
void nl_revert_reserve(void);
