/* tune_requests: the requests of `gensink tune`, one function a verb. */
#include "base/error.h"
#include "tune/knob_member.h"
#include "tune/tune_cmd.h"

#include <stdio.h>
#include <string.h>

static int parse_knob(struct nl_request *request, struct nl_knob *k, struct nl_err *err)
{
	const char *kind = nl_request_get(request, "knob"), *name = nl_request_get(request, "name");

	return nl_knob_parse(k, kind, name, nl_request_get(request, "interface"), err);
}

static int need_session(const struct tune *t, struct nl_err *err)
{
	if (t->session.live)
		return NL_OK;
	return nl_fail(err, NL_BAD_REQUEST, "no session is open: send `begin` first");
}

/* For the requests that take no key and need a session. */
static int check_bare(const struct tune *t, const struct nl_request *request, struct nl_err *err)
{
	int code = nl_request_only_known(request, err);

	return code ? code : need_session(t, err);
}

static int do_read(void *context, struct nl_request *request, struct nl_err *err)
{
	const char *text = NULL;
	struct tune *t = context;
	enum nl_knob_access access;
	struct nl_err why = {0};
	struct nl_value value;
	enum nl_knob_code code;
	struct nl_json *j;
	struct nl_knob k;

	if (parse_knob(request, &k, err))
		return err->code;
	if (nl_knob_ops_of(&k)->can)
		text = nl_request_get(request, "value");
	if (nl_request_only_known(request, err) || (text && nl_knob_check_value(&k, text, err)))
		return err->code;
	if (t->session.live && nl_session_keepalive(&t->session, err))
		return err->code;
	code = nl_knob_ops_of(&k)->read(&k, &value, &access, &why);
	if (code == NL_KNOB_OK && text)
		code = nl_knob_ops_of(&k)->can(&k, text, &why);
	if (code == NL_KNOB_FAILED)
		return nl_fail(err, NL_LIMIT, "%s", why.message);
	j = nl_tune_event(t, "value");
	nl_tune_knob_keys(j, &k);
	nl_json_text(j, "value", code == NL_KNOB_OK ? value.text : NULL);
	nl_json_bool(j, "supported", code == NL_KNOB_OK);
	nl_json_bool(j, "writable", code == NL_KNOB_OK && access == NL_KNOB_WRITABLE);
	nl_json_text(j, "reason", why.message[0] ? why.message : NULL);
	nl_tune_finish(t);
	return NL_OK;
}

/* The members of a kind that has many, with their values: one answer instead of a read for each. */
static int do_list(void *context, struct nl_request *request, struct nl_err *err)
{
	static struct nl_members members; /* large for a stack */
	const char *kind = nl_request_get(request, "knob");
	struct tune *t = context;
	enum nl_knob_access access;
	struct nl_err why = {0};
	struct nl_value value;
	enum nl_knob_code code;
	struct nl_json *j;
	struct nl_knob k;
	int writable = 1;

	if (nl_knob_parse(&k, kind, "0", nl_request_get(request, "interface"), err) ||
	    nl_request_only_known(request, err))
		return err->code;
	if (!nl_knob_ops_of(&k)->has_number)
		return nl_fail_key(err, "knob", "knob: expected governor or irq");
	if (t->session.live && nl_session_keepalive(&t->session, err))
		return err->code;
	code = nl_knob_members(&k, &members, &why);
	j = nl_tune_event(t, "listed");
	nl_json_open(j, "values");
	for (size_t i = 0; code == NL_KNOB_OK && i < members.count; i++) {
		snprintf(k.name, sizeof(k.name), "%u", members.of[i].number);
		code = nl_knob_ops_of(&k)->read(&k, &value, &access, &why);
		if (code == NL_KNOB_OK)
			nl_json_text(j, k.name, value.text);
		writable &= access == NL_KNOB_WRITABLE;
	}
	nl_json_close(j);
	if (code == NL_KNOB_FAILED)
		return nl_fail(err, NL_LIMIT, "%s", why.message);
	nl_json_open(j, "handlers");
	for (size_t i = 0; code == NL_KNOB_OK && i < members.count; i++) {
		snprintf(k.name, sizeof(k.name), "%u", members.of[i].number);
		nl_json_text(j, k.name, members.of[i].handler);
	}
	nl_json_close(j);
	nl_json_text(j, "knob", nl_knob_ops_of(&k)->kind);
	nl_json_text(j, "interface", k.interface[0] ? k.interface : NULL);
	nl_json_text(j, "online", members.online);
	nl_json_text(j, "near", members.near);
	nl_json_bool(j, "supported", code == NL_KNOB_OK);
	nl_json_bool(j, "writable", code == NL_KNOB_OK && writable);
	nl_json_text(j, "reason", why.message[0] ? why.message : NULL);
	nl_tune_finish(t);
	return NL_OK;
}

static int do_begin(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;

	if (nl_request_only_known(request, err))
		return err->code;
	if (t->session.live)
		return nl_fail(err, NL_BAD_REQUEST, "a session is open already: send `end` first");
	if (nl_session_begin(&t->session, t->hold_ns, err))
		return err->code;
	nl_tune_event(t, "begun");
	nl_tune_finish(t);
	return NL_OK;
}

static int do_set(void *context, struct nl_request *request, struct nl_err *err)
{
	static const char *const names[] = {"applied", "unchanged", "unsupported", "refused",
					    "differs"};
	struct tune *t = context;
	const char *value = nl_request_get(request, "value");
	struct nl_set_result r;
	struct nl_json *j;
	struct nl_knob k;

	if (parse_knob(request, &k, err))
		return err->code;
	if (!value)
		return nl_fail_key(err, "value", "the key `value` is missing");
	if (nl_knob_check_value(&k, value, err) || check_bare(t, request, err))
		return err->code;
	if (nl_session_set(&t->session, &k, value, &r, err))
		return err->code;
	j = nl_tune_event(t, "set");
	nl_tune_knob_keys(j, &k);
	nl_json_text(j, "old", r.has_old ? r.old : NULL);
	nl_json_text(j, "value", value);
	nl_json_text(j, "readback", r.has_readback ? r.readback : NULL);
	nl_json_text(j, "status", names[r.status]);
	nl_json_text(j, "reason", r.why.message[0] ? r.why.message : NULL);
	nl_tune_finish(t);
	return NL_OK;
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

static int do_verify(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;
	unsigned drifted;

	if (check_bare(t, request, err) ||
	    nl_session_verify(&t->session, send_drift, t, &drifted, err))
		return err->code;
	nl_json_u64(nl_tune_event(t, "verified"), "drifted", drifted);
	nl_tune_finish(t);
	return NL_OK;
}

static int do_revert(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;
	struct nl_revert_sum sum;

	if (check_bare(t, request, err) ||
	    nl_session_revert(&t->session, nl_tune_send_reverted, t, &sum, err))
		return err->code;
	nl_tune_send_reverted_all(t, &sum);
	return NL_OK;
}

static int do_keepalive(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;

	if (nl_request_only_known(request, err))
		return err->code;
	if (t->session.live && nl_session_keepalive(&t->session, err))
		return err->code;
	nl_tune_event(t, "alive");
	nl_tune_finish(t);
	return NL_OK;
}

int nl_tune_end_session(struct tune *t, struct nl_err *err)
{
	struct nl_revert_sum sum;
	struct nl_json *j;

	if (nl_session_end(&t->session, nl_tune_send_reverted, t, &sum, err))
		return err->code;
	if (sum.failed || sum.absent)
		t->failed = 1;
	j = nl_tune_event(t, "ended");
	nl_json_u64(j, "conflicts", t->session.sum.conflicts);
	nl_json_u64(j, "absent", sum.absent);
	nl_json_u64(j, "failed", sum.failed);
	nl_tune_finish(t);
	return NL_OK;
}

static int do_end(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;

	return check_bare(t, request, err) ? err->code : nl_tune_end_session(t, err);
}

static int do_recover(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;
	struct nl_revert_sum sum;

	if (nl_request_only_known(request, err))
		return err->code;
	if (t->session.live)
		return nl_fail(err, NL_BAD_REQUEST, "a session is open: send `recover` before `begin`");
	if (nl_session_recover(&t->session, nl_tune_send_reverted, t, &sum, err))
		return err->code;
	nl_tune_send_reverted_all(t, &sum);
	return NL_OK;
}

const struct nl_verb nl_tune_verbs[] = {
	{"read", do_read},     {"list", do_list}, {"begin", do_begin},
	{"set", do_set},       {"verify", do_verify},   {"revert", do_revert},
	{"keepalive", do_keepalive}, {"end", do_end},   {"recover", do_recover},
};
const size_t nl_tune_verb_count = sizeof(nl_tune_verbs) / sizeof(nl_tune_verbs[0]);
