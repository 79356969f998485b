#include "tune/tune_session.h"

#include "net/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct nl_watch {
	struct nl_knob knob;
	struct nl_value value;
};

static void close_session(struct nl_session *s)
{
	if (s->guard.lock_fd >= 0)
		nl_guard_close(&s->guard);
	nl_journal_close(&s->journal);
	nl_host_lock_release(&s->lock);
	free(s->watch);
	s->watch = NULL;
	s->watches = 0;
	s->live = 0;
}

/* Take the lock of the processes that tune, and read the journal. NL_OK, NL_IN_USE or NL_REFUSED. */
static int lock_journal(struct nl_session *s, struct nl_err *why)
{
	/* of one user: another must not be able to delay a revert */
	static const struct nl_host_lock_kind kind = {"tune", "another process tunes", 0};

	if (nl_host_lock_take(&s->lock, &kind, why) != NL_OK)
		return why->code;
	fcntl(s->lock.fd, F_SETFD, 0); /* a modprobe inherits it, and ends before the next session begins */
	if (nl_journal_open(&s->journal, why) != NL_OK) /* the lock is in the same directory */
		;
	else if (nl_journal_load(&s->journal) == 0)
		return NL_OK;
	else if (errno == EBADMSG)
		nl_fail(why, NL_REFUSED, "the journal %s is damaged, or of another version of netlab: revert "
			"what it names by hand and remove it, or restart the host", s->journal.path);
	else
		nl_fail(why, NL_REFUSED, "the journal %s cannot be read: %s", s->journal.path,
			strerror(errno));
	close_session(s);
	return why->code;
}

/* The knobs of the journal; 1 if a guard restored them all, but not the rest of the host. */
static unsigned left_changed(const struct nl_session *s)
{
	return s->journal.count ? (unsigned)s->journal.count : (unsigned)nl_host_recorded(&s->journal);
}

unsigned nl_session_init(struct nl_session *s)
{
	unsigned stale;
	struct nl_err why;
	int code;

	memset(s, 0, sizeof(*s));
	s->lock.fd = s->lock.name_fd = s->journal.dir = -1;
	s->guard.lock_fd = s->guard.socket_fd = -1;
	if (nl_journal_open(&s->journal, &why) != NL_OK)
		return 1;
	code = nl_journal_load(&s->journal);
	stale = left_changed(s);
	close_session(s);
	if (code == 0 && stale == 0)
		return 0;
	/* The entries of a live session are not stale; others cannot begin while this has its lock. */
	code = lock_journal(s, &why);
	stale = code == NL_OK ? left_changed(s) : code != NL_IN_USE;
	close_session(s);
	return stale;
}

int nl_session_begin(struct nl_session *s, uint64_t hold_ns, struct nl_err *why)
{
	memset(&s->sum, 0, sizeof(s->sum));
	if (lock_journal(s, why) != NL_OK)
		return why->code;
	s->left = s->journal.count;
	s->recorded = nl_host_recorded(&s->journal);
	if (nl_guard_open(&s->guard, hold_ns, why) < 0 ||
	    nl_guard_start(&s->guard, &s->journal, s->left, &s->lock, why) < 0) {
		close_session(s);
		return NL_REFUSED;
	}
	s->live = 1;
	return NL_OK;
}

int nl_session_recover(struct nl_session *s, const struct nl_host_report *report, struct nl_host_sum *sum,
		       struct nl_err *why)
{
	if (lock_journal(s, why) != NL_OK)
		return why->code;
	*sum = nl_host_revert(&s->journal, 0, 0, report);
	close_session(s);
	return NL_OK;
}

/* Under the lock, after the guard took over: complete its work and close the session. */
static int session_lost(struct nl_session *s, struct nl_err *why)
{
	static const struct nl_host_report nobody = {NULL, NULL, NULL};
	struct nl_host_sum done = {s->guard.shared->sum, s->guard.shared->unrestored, 0};
	struct nl_revert_sum sum;

	/* The guard may have been killed halfway; reverting twice is harmless. */
	if (!atomic_load(&s->guard.shared->finished))
		done = nl_host_revert(&s->journal, s->left, 1, &nobody);
	sum = done.knobs;
	sum.of[NL_CONFLICT] += done.unrestored;
	nl_revert_sum_add(&s->sum, &sum);
	nl_guard_unlock(&s->guard);
	close_session(s);
	return nl_fail(why, NL_TIMEOUT,
		       "no request arrived within the hold time, so the guard reverted every knob: "
		       "%u restored, %u conflicts, %u absent, %u failed",
		       sum.of[NL_RESTORED], sum.of[NL_CONFLICT], sum.of[NL_ABSENT], sum.of[NL_FAILED]);
}

int nl_session_enter(struct nl_session *s, struct nl_err *why)
{
	if (!s->live)
		return nl_fail(why, NL_BAD_REQUEST, "no session is open: send `begin` first");
	if (nl_guard_lock(&s->guard) < 0)
		return nl_fail(why, NL_INTERNAL, "flock: %s", strerror(errno));
	if (atomic_load(&s->guard.shared->taken))
		return session_lost(s, why);
	nl_guard_keepalive(&s->guard);
	if (!nl_guard_alive(&s->guard) &&
	    nl_guard_start(&s->guard, &s->journal, s->left, &s->lock, why) < 0) {
		static const struct nl_host_report nobody = {NULL, NULL, NULL};
		struct nl_host_sum sum;
		struct nl_err ignored;

		nl_guard_unlock(&s->guard);
		nl_session_end(s, &nobody, &sum, &ignored);
		return NL_REFUSED;
	}
	return NL_OK;
}

void nl_session_leave(struct nl_session *s)
{
	nl_guard_keepalive(&s->guard);
	nl_guard_unlock(&s->guard);
}

int nl_session_keepalive(struct nl_session *s, struct nl_err *why)
{
	int code = s->live ? nl_session_enter(s, why) : NL_OK;

	if (s->live && code == NL_OK)
		nl_session_leave(s);
	return code;
}

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

/* -- setting a knob ------------------------------------------------------------------- */

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

static enum step find_interface(struct change *c)
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
	/* Nothing is changed before the last three; each failure of theirs leaves the knob as it was, or in
	 * the journal. */
	static enum step (*const steps[])(struct change *) = {
		find_interface, read_present,	compare_with_wanted, check_access,	  check_dead_sessions,
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

unsigned nl_session_verify(struct nl_session *s, nl_drift_fn *report, void *context)
{
	unsigned drifted = 0;

	for (size_t i = 0; i < s->watches; i++) {
		const struct nl_watch *w = &s->watch[i];
		struct nl_value now;
		struct nl_err ignored;
		int found = nl_knob_read(&w->knob, &now, &ignored) == NL_KNOB_OK;

		if (found && strcmp(now.text, w->value.text) == 0 &&
		    strcmp(now.exact, w->value.exact) == 0)
			continue;
		drifted++;
		report(context, &w->knob, w->value.text, found ? now.text : NULL);
	}
	return drifted;
}

struct nl_host_sum nl_session_revert(struct nl_session *s, const struct nl_host_report *report)
{
	struct nl_host_sum sum = nl_host_revert(&s->journal, s->left, 1, report);

	nl_revert_sum_add(&s->sum, &sum.knobs);
	s->sum.of[NL_CONFLICT] += sum.unrestored;
	s->recorded = nl_host_recorded(&s->journal);
	free(s->watch);
	s->watch = NULL;
	s->watches = 0;
	return sum;
}

int nl_session_end(struct nl_session *s, const struct nl_host_report *report, struct nl_host_sum *sum,
		   struct nl_err *why)
{
	int code = NL_OK;

	memset(sum, 0, sizeof(*sum));
	if (nl_guard_lock(&s->guard) < 0) {
		/* Without the lock the guard reverts the knobs: it sees the socket close. */
		code = nl_fail(why, NL_INTERNAL, "flock: %s", strerror(errno));
	} else {
		if (atomic_load(&s->guard.shared->taken))
			return session_lost(s, why);
		*sum = nl_session_revert(s, report);
		atomic_store(&s->guard.shared->ended, 1);
		nl_guard_unlock(&s->guard);
	}
	close_session(s);
	return code;
}
