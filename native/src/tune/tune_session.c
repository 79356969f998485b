#include "tune/tune_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	if (nl_journal_open(&s->journal, why) != NL_OK) { /* the lock is in the same directory */
		close_session(s);
		return why->code;
	}
	nl_journal_forget_boots(&s->journal);
	if (nl_journal_load(&s->journal) == 0)
		return NL_OK;
	if (errno == EBADMSG)
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
