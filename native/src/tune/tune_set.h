/* tune_set: one change of a knob, from reading its present value to reading back the new one.
 *
 * A table of steps, each of which goes on or ends the change. Nothing is changed before the last three; a
 * failure of theirs leaves the knob as it was, or in the journal. */
#pragma once

#include "tune/tune_session.h"

enum nl_set_status {
	NL_SET_APPLIED,
	NL_SET_UNCHANGED, /* it had that value already; nothing was written */
	NL_SET_UNSUPPORTED,
	NL_SET_REFUSED,
	NL_SET_DIFFERS, /* the write succeeded, but it reads back differently */
};

struct nl_set_result {
	enum nl_set_status status;
	struct nl_value old, readback;
	int has_old, has_readback;
	struct nl_err why;
};

/* Of a knob that is not known to revert exactly: `changed` receives what differs beside it after the change. */
struct nl_set_risk {
	nl_changed_fn *changed;
	void *context;
};

/* Journal the change, write, and read back. risk: NULL for a knob that reverts exactly. */
void nl_session_set(struct nl_session *s, const struct nl_knob *k, const char *value,
		    const struct nl_set_risk *risk, struct nl_set_result *out);
