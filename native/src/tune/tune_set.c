#include "tune/tune_set.h"

#include "net/interface.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void watch_knob(struct nl_session *s, const struct nl_knob *k, const struct nl_value *value)
{
	struct nl_watch *more;
	size_t i = 0;

	while (i < s->watches && !nl_knob_same(&s->watch[i].knob, k))
		i++;
	if (i == s->watches) {
		more = realloc(s->watch, (i + 1) * sizeof(*more));
		if (!more)
			return;
		s->watch = more;
		s->watches++;
	}
	s->watch[i] = (struct nl_watch){*k, *value};
}

static void put_text(char *to, const char *from)
{
	memcpy(to, from, strlen(from) + 1);
}

/* Record the intended write. The entry, or NULL with a reason and everything unchanged. */
static struct nl_entry *record_intent(struct nl_session *s, const struct nl_knob *k, int ifindex,
				      const struct nl_value *now, const char *wanted,
				      struct nl_err *why)
{
	struct nl_entry *e = nl_journal_find(&s->journal, k, ifindex), before;
	int is_new = e == NULL;

	if (is_new)
		e = nl_journal_add(&s->journal);
	if (!e)
		return nl_knob_fail(why, NULL, "too many knobs in one session");
	before = *e;
	if (is_new) {
		e->knob = *k;
		e->ifindex = ifindex;
		put_text(e->old, now->exact);
	} else if (!nl_entry_is_ours(e, now, 1)) {
		/* A foreign value: restore this one from now on. */
		put_text(e->old, now->exact);
		e->written = 0;
	}
	put_text(e->wanted, wanted);
	e->pending = 1;
	if (nl_journal_save(&s->journal) == 0)
		return e;
	nl_fail(why, NL_REFUSED, "the journal %s cannot be written, so nothing was changed: %s",
		s->journal.path, strerror(errno));
	if (is_new)
		s->journal.count--;
	else
		*e = before;
	return NULL;
}

static void drop_entry(struct nl_session *s, const struct nl_entry *e)
{
	nl_journal_drop(&s->journal, (size_t)(e - s->journal.entry));
	nl_journal_save(&s->journal); /* if that fails, the next revert does nothing */
}

/* Revert the knob of a new entry or of a failed readback; the journal keeps it if that fails. */
static void undo_entry(struct nl_session *s, struct nl_entry *e)
{
	struct nl_value found;
	struct nl_err why;

	if (nl_reverted_done(nl_revert_entry(e, 1, &found, &why)))
		drop_entry(s, e);
	nl_revert_reserve();
}

/* Write the present value again before it is changed: one that the kernel does not take could not be
 * restored. 0, or -1 with a reason and the knob as it was. */
static int probe_restore(struct nl_session *s, struct nl_entry *e, struct nl_err *why)
{
	struct nl_err reason;

	if (nl_knob_restore(&e->knob, e->old, &reason) == NL_KNOB_OK)
		return 0;
	nl_fail(why, NL_REFUSED, "the kernel does not accept its present value, %.150s, so a change "
			   "could not be reverted: %s", e->old, reason.message);
	undo_entry(s, e);
	return -1;
}

/* Record the readback in e; revert the knob if that fails. */
static int record_readback(struct nl_session *s, struct nl_entry *e, struct nl_err *why)
{
	int err;

	e->written = 1;
	e->pending = 0;
	if (nl_journal_save(&s->journal) == 0)
		return 0;
	err = errno;
	undo_entry(s, e);
	return nl_knob_fail(why, -1, "the journal %s cannot be written, so the knob was reverted: %s",
			    s->journal.path, strerror(err));
}

/* One change, as the steps below fill it. */
struct change {
	struct nl_session *session;
	const struct nl_knob *knob;
	const char *value;
	int has_risk;
	char wanted[NL_KNOB_VALUE_MAX + 1];
	int ifindex;
	int is_watched_around; /* the host is compared before and after */
	struct nl_state seen;
	struct nl_entry *entry;
	struct nl_set_result *out;
};

enum step { GO_ON, STOP };

static enum step change_stop(struct change *c, enum nl_set_status status)
{
	c->out->status = status;
	return STOP;
}

static enum step find_changed_interface(struct change *c)
{
	int found = c->knob->ops->has_interface ? nl_ifindex_of(c->knob->interface) : 0;

	c->ifindex = found > 0 ? found : 0;
	if (found >= 0 || found == -ENODEV) /* the read names a missing interface */
		return GO_ON;
	nl_knob_fail_errno(&c->out->why, c->knob->interface, -found);
	return change_stop(c, NL_SET_REFUSED);
}

static enum step read_present(struct change *c)
{
	enum nl_knob_code code = nl_knob_read(c->knob, &c->out->old, &c->out->why);

	if (code != NL_KNOB_OK)
		return change_stop(c, code == NL_KNOB_UNSUPPORTED || code == NL_KNOB_ABSENT ? NL_SET_UNSUPPORTED
										    : NL_SET_REFUSED);
	c->out->readback = c->out->old;
	c->out->has_old = c->out->has_readback = 1;
	return GO_ON;
}

static enum step compare_with_wanted(struct change *c)
{
	if (strcmp(c->out->old.text, c->wanted) != 0)
		return GO_ON;
	c->out->why.message[0] = '\0';
	watch_knob(c->session, c->knob, &c->out->old);
	return change_stop(c, NL_SET_UNCHANGED);
}

static enum step check_access(struct change *c)
{
	if (c->out->old.access == NL_KNOB_WRITABLE)
		return GO_ON;
	return change_stop(c, c->out->old.access == NL_KNOB_READ_ONLY ? NL_SET_UNSUPPORTED : NL_SET_REFUSED);
}

static enum step check_dead_sessions(struct change *c)
{
	struct nl_journal *j = &c->session->journal;
	const struct nl_entry *left = nl_journal_find(j, c->knob, c->ifindex);

	if (!left)
		left = nl_journal_find(j, c->knob, 0);
	if (!left || left >= j->entry + c->session->left)
		return GO_ON;
	nl_fail(&c->out->why, NL_REFUSED, "a session that died left it changed: recover first");
	return change_stop(c, NL_SET_REFUSED);
}

static enum step record_host(struct change *c)
{
	struct nl_session *s = c->session;
	int is_watched = c->has_risk || nl_knob_has_effects(c->knob);

	if (!s->recorded && nl_host_record_before(&s->journal) < 0)
		goto failed;
	s->recorded = 1;
	if (is_watched && nl_host_change_begin(&s->journal, &c->seen) < 0)
		goto failed;
	c->is_watched_around = is_watched;
	return GO_ON;
failed:
	nl_fail(&c->out->why, NL_REFUSED,
		"the state of the host cannot be recorded beside %s, so nothing was changed: %s",
		s->journal.path, strerror(errno));
	return change_stop(c, NL_SET_REFUSED);
}

static enum step journal_intent(struct change *c)
{
	c->entry = record_intent(c->session, c->knob, c->ifindex, &c->out->old, c->wanted, &c->out->why);
	return c->entry ? GO_ON : change_stop(c, NL_SET_REFUSED);
}

static enum step write_present(struct change *c)
{
	/* of a sysctl with side effects even a write of the present value has them */
	if (!c->knob->ops->restore_probe || c->is_watched_around || c->entry->written ||
	    probe_restore(c->session, c->entry, &c->out->why) == 0)
		return GO_ON;
	return change_stop(c, NL_SET_REFUSED);
}

/* A failed write may have changed something: it is read back and journalled as well. */
static enum step write_and_read_back(struct change *c)
{
	struct nl_set_result *out = c->out;
	struct nl_err why = {0};
	enum nl_knob_code code = c->knob->ops->write(c->knob, c->value, &out->why);

	if (nl_knob_read(c->knob, &out->readback, &why) != NL_KNOB_OK) {
		out->has_readback = 0;
		if (!out->why.message[0])
			out->why = why;
		undo_entry(c->session, c->entry); /* a value that was never read cannot be recognised later */
		return change_stop(c, NL_SET_REFUSED);
	}
	put_text(c->entry->readback, out->readback.exact);
	if (record_readback(c->session, c->entry, &out->why) < 0)
		return change_stop(c, NL_SET_REFUSED);
	if (code == NL_KNOB_OK)
		return GO_ON;
	if (strcmp(c->entry->readback, c->entry->old) == 0)
		drop_entry(c->session, c->entry);
	return change_stop(c, code == NL_KNOB_UNSUPPORTED ? NL_SET_UNSUPPORTED : NL_SET_REFUSED);
}

static enum step compare_readback(struct change *c)
{
	struct nl_set_result *out = c->out;
	int is_as_wanted = strcmp(out->readback.text, c->wanted) == 0;

	watch_knob(c->session, c->knob, &out->readback);
	if (is_as_wanted)
		out->why.message[0] = '\0';
	else if (!out->why.message[0])
		nl_fail(&out->why, NL_REFUSED, "the kernel changed the value");
	return change_stop(c, is_as_wanted ? NL_SET_APPLIED : NL_SET_DIFFERS);
}

void nl_session_set(struct nl_session *s, const struct nl_knob *k, const char *value,
		    const struct nl_set_risk *risk, struct nl_set_result *out)
{
	static enum step (*const steps[])(struct change *) = {
		find_changed_interface, read_present,	compare_with_wanted, check_access,	  check_dead_sessions,
		record_host,	journal_intent, write_present,	     write_and_read_back, compare_readback,
	};
	struct change c = {.session = s, .knob = k, .value = value, .has_risk = risk != NULL, .out = out};
	enum step then = GO_ON;

	memset(out, 0, sizeof(*out));
	put_text(c.wanted, value);
	nl_knob_fold(c.wanted);
	for (size_t i = 0; then == GO_ON; i++) /* the last one stops */
		then = steps[i](&c);
	if (c.is_watched_around)
		nl_host_change_end(&s->journal, &c.seen, risk ? risk->changed : NULL, risk ? risk->context : NULL);
}
