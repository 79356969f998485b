/* tune_requests: what `gensink tune` is asked, a function a verb. */
#include "base/request.h"
#include "tune/tune_cmd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* After the getters: 0, or -1 and an answer when a key was not asked for. */
static int no_more(struct tune *t, const struct nl_request *request)
{
	const char *key = nl_request_unread(request);

	if (!key)
		return 0;
	nl_tune_bad(t, key, "this request has no such key");
	return -1;
}

static int take_knob(struct tune *t, struct nl_request *request, struct nl_knob *k)
{
	const char *kind = nl_request_get(request, "knob"), *name = nl_request_get(request, "name");
	const char *interface = nl_request_get(request, "interface"), *key, *message;

	if (nl_knob_parse(k, kind, name, interface, &key, &message) == 0)
		return 0;
	nl_tune_bad(t, key, message);
	return -1;
}

static int need_live(struct tune *t)
{
	if (t->session.live)
		return 0;
	nl_tune_bad(t, NULL, "no session: `begin` comes first");
	return -1;
}

static void do_read(struct tune *t, struct nl_request *request)
{
	enum nl_knob_access access;
	struct nl_reason why = {""};
	struct nl_value value;
	enum nl_knob_code code;
	struct nl_json *j;
	struct nl_knob k;

	if (take_knob(t, request, &k) || no_more(t, request))
		return;
	code = nl_knob_ops_of(&k)->read(&k, &value, &access, &why);
	j = nl_tune_event(t, "value");
	nl_tune_knob_keys(j, &k);
	nl_json_text(j, "value", code == NL_KNOB_OK ? value.text : NULL);
	nl_json_bool(j, "supported", code == NL_KNOB_OK);
	nl_json_bool(j, "writable", code == NL_KNOB_OK && access == NL_KNOB_WRITABLE);
	nl_json_text(j, "reason", why.text[0] ? why.text : NULL);
	nl_tune_finish(t);
}

static int owner_ok(const char *owner)
{
	size_t len = strspn(owner, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-.:@");

	return len > 0 && len <= NL_JOURNAL_OWNER_MAX && owner[len] == '\0';
}

static void do_begin(struct tune *t, struct nl_request *request)
{
	const char *owner = nl_request_get(request, "owner");
	enum nl_session_code code;
	struct nl_reason why;

	if (!owner || !owner_ok(owner)) {
		nl_tune_bad(t, "owner", "an owner is 1 to 64 letters, digits or _-.:@");
		return;
	}
	if (no_more(t, request))
		return;
	if (t->session.live) {
		nl_tune_bad(t, NULL, "a session is open already");
		return;
	}
	code = nl_session_begin(&t->session, owner, t->hold_ns, &why);
	if (code != NL_SESSION_OK) {
		nl_tune_session_error(t, code, &why);
		return;
	}
	nl_tune_event(t, "begun");
	nl_tune_finish(t);
}

static void do_set(struct tune *t, struct nl_request *request)
{
	static const char *const names[] = {"applied", "unchanged", "unsupported", "refused",
					    "differs"};
	const char *value = nl_request_get(request, "value"), *message;
	struct nl_set_result r;
	enum nl_session_code code;
	struct nl_reason why;
	struct nl_json *j;
	struct nl_knob k;

	if (take_knob(t, request, &k))
		return;
	if (!value) {
		nl_tune_bad(t, "value", "the value is missing");
		return;
	}
	if (nl_knob_check_value(&k, value, &message)) {
		nl_tune_bad(t, "value", message);
		return;
	}
	if (no_more(t, request) || need_live(t))
		return;
	code = nl_session_set(&t->session, &k, value, &r, &why);
	if (code != NL_SESSION_OK) {
		nl_tune_session_error(t, code, &why);
		return;
	}
	j = nl_tune_event(t, "set");
	nl_tune_knob_keys(j, &k);
	nl_json_text(j, "old", r.has_old ? r.old : NULL);
	nl_json_text(j, "value", value);
	nl_json_text(j, "readback", r.has_readback ? r.readback : NULL);
	nl_json_text(j, "status", names[r.status]);
	nl_json_text(j, "reason", r.why.text[0] ? r.why.text : NULL);
	nl_tune_finish(t);
}

static void send_drift(void *context, const struct nl_knob *k, const char *expected,
		       const char *found)
{
	struct tune *t = context;
	struct nl_json *j = nl_tune_event(t, "drift");

	nl_tune_knob_keys(j, k);
	nl_json_text(j, "expected", expected);
	nl_json_text(j, "found", found);
	nl_tune_finish(t);
}

static void do_verify(struct tune *t, struct nl_request *request)
{
	enum nl_session_code code;
	struct nl_reason why;
	unsigned drifted;

	if (no_more(t, request) || need_live(t))
		return;
	code = nl_session_verify(&t->session, send_drift, t, &drifted, &why);
	if (code != NL_SESSION_OK) {
		nl_tune_session_error(t, code, &why);
		return;
	}
	nl_json_u64(nl_tune_event(t, "verified"), "drifted", drifted);
	nl_tune_finish(t);
}

static void do_revert(struct tune *t, struct nl_request *request)
{
	struct nl_revert_sum sum;
	enum nl_session_code code;
	struct nl_reason why;

	if (no_more(t, request) || need_live(t))
		return;
	code = nl_session_revert(&t->session, nl_tune_send_reverted, t, &sum, &why);
	if (code != NL_SESSION_OK)
		nl_tune_session_error(t, code, &why);
	else
		nl_tune_send_reverted_all(t, &sum);
}

static void do_keepalive(struct tune *t, struct nl_request *request)
{
	enum nl_session_code code = NL_SESSION_OK;
	struct nl_reason why;

	if (no_more(t, request))
		return;
	if (t->session.live)
		code = nl_session_keepalive(&t->session, &why);
	if (code != NL_SESSION_OK) {
		nl_tune_session_error(t, code, &why);
		return;
	}
	nl_tune_event(t, "alive");
	nl_tune_finish(t);
}

void nl_tune_end_session(struct tune *t)
{
	struct nl_revert_sum sum;
	struct nl_reason why;
	enum nl_session_code code = nl_session_end(&t->session, nl_tune_send_reverted, t, &sum, &why);
	struct nl_json *j;

	if (code != NL_SESSION_OK) {
		nl_tune_session_error(t, code, &why);
		return;
	}
	if (sum.failed)
		t->failed = 1;
	j = nl_tune_event(t, "ended");
	nl_json_u64(j, "conflicts", t->session.sum.conflicts);
	nl_json_u64(j, "failed", sum.failed);
	nl_tune_finish(t);
}

static void do_end(struct tune *t, struct nl_request *request)
{
	if (no_more(t, request) || need_live(t))
		return;
	nl_tune_end_session(t);
}

struct recovery {
	struct tune *tune;
	struct nl_revert_sum sum;
};

static void recover_one(void *context, int fd, const char *file, struct nl_journal *journal,
			enum nl_place_match match)
{
	struct recovery *r = context;
	struct nl_revert_sum sum = {0, 0, 0};

	if (match == NL_PLACE_HERE) {
		sum = nl_revert_all(journal, fd, 0, nl_tune_send_reverted, r->tune);
	} else {
		struct nl_json *j = nl_tune_event(r->tune, "discarded");

		nl_json_text(j, "journal", file);
		nl_json_text(j, "owner", journal->owner);
		nl_json_text(j, "reason",
			     match == NL_PLACE_REBOOTED
				     ? "it is of an earlier boot: what it changed is gone"
				     : "its network namespace is gone, and what it changed with it");
		nl_tune_finish(r->tune);
	}
	r->sum.conflicts += sum.conflicts;
	r->sum.failed += sum.failed;
	if (sum.failed == 0)
		nl_journal_remove(r->tune->session.dir, file);
}

static void do_recover(struct tune *t, struct nl_request *request)
{
	struct recovery r = {.tune = t, .sum = {0, 0, 0}};
	int address;

	if (no_more(t, request))
		return;
	if (t->session.live) {
		nl_tune_bad(t, NULL, "`recover` comes before `begin`");
		return;
	}
	address = nl_session_address();
	if (address < 0) {
		t->failed = 1;
		nl_tune_error(t, errno == EADDRINUSE ? "in_use" : "refused", NULL,
		      errno == EADDRINUSE ? "somebody else is tuning this host" : strerror(errno));
		return;
	}
	nl_journal_stale(t->session.dir, &t->session.place, recover_one, &r);
	close(address);
	nl_tune_send_reverted_all(t, &r.sum);
}

static const struct verb {
	const char *name;
	void (*run)(struct tune *t, struct nl_request *request);
} verbs[] = {
	{"read", do_read},     {"begin", do_begin},	    {"set", do_set}, {"verify", do_verify},
	{"revert", do_revert}, {"keepalive", do_keepalive}, {"end", do_end}, {"recover", do_recover},
};

void nl_tune_answer(struct tune *t, const char *line, size_t len)
{
	struct nl_request request;
	enum nl_request_code code = nl_request_parse(&request, line, len);

	if (code != NL_REQUEST_OK) {
		nl_tune_bad(t, request.bad_key[0] ? request.bad_key : NULL, nl_request_message(code));
		return;
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].name, request.verb) == 0) {
			verbs[i].run(t, &request);
			return;
		}
	}
	nl_tune_bad(t, NULL, "not a request: read, begin, set, verify, revert, keepalive, end or recover");
}
