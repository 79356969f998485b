#include "tune/tune_revert.h"

#include <string.h>

const char *nl_reverted_word(enum nl_reverted status)
{
	static const char *const words[] = {"restored", "conflict", "failed"};

	return words[status];
}

enum nl_reverted nl_revert_entry(const struct nl_entry *e, int at_once, struct nl_value *found,
				 struct nl_err *why)
{
	const struct nl_knob_ops *ops = nl_knob_ops_of(&e->knob);
	enum nl_knob_access access;
	struct nl_value after;

	why->message[0] = '\0';
	memset(found, 0, sizeof(*found));
	if (ops->read(&e->knob, found, &access, why) != NL_KNOB_OK) {
		memset(found, 0, sizeof(*found));
		return NL_CONFLICT;
	}
	why->message[0] = '\0';
	if (strcmp(found->exact, e->old) == 0)
		return NL_RESTORED;
	if (!nl_entry_is_ours(e, found, at_once)) {
		nl_fail(why, NL_REFUSED, "another process has changed it since; left as found");
		return NL_CONFLICT;
	}
	ops->restore(&e->knob, e->old, why);
	if (ops->read(&e->knob, &after, &access, why) == NL_KNOB_OK &&
	    strcmp(after.exact, e->old) == 0) {
		why->message[0] = '\0';
		return NL_RESTORED;
	}
	if (!why->message[0])
		nl_fail(why, NL_REFUSED, "it was written, but reads back as another value");
	return NL_FAILED;
}

struct nl_revert_sum nl_revert_all(struct nl_journal *j, int fd, int at_once,
				   nl_reverted_fn *report, void *context)
{
	struct nl_revert_sum sum = {0, 0, 0};

	for (size_t i = j->count; i-- > 0;) {
		struct nl_entry *e = &j->entry[i];
		enum nl_reverted status;
		struct nl_value found;
		struct nl_err why;

		if (e->done)
			continue;
		status = nl_revert_entry(e, at_once, &found, &why);
		if (status == NL_FAILED) {
			sum.failed++;
		} else {
			e->done = 1;
			nl_journal_done(fd, e, nl_reverted_word(status));
			if (status == NL_RESTORED)
				sum.restored++;
			else
				sum.conflicts++;
		}
		if (report)
			report(context, &e->knob, status, found.text,
			       why.message[0] ? why.message : NULL);
	}
	return sum;
}
