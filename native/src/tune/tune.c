/* `gensink tune`: answers, requests, and the process with its signals and serve loop; see PROTOCOL.md. One
 * thread. */
#include "commands.h"

#include "base/arguments.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/process.h"
#include "base/serve.h"
#include "tune/knob_file.h"
#include "tune/tune_set.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct tune {
	struct nl_serve serve;
	struct nl_session session;
	uint64_t hold_ns;
};

/* -- answers ------------------------------------------------------------------------ */

static void put_knob(struct nl_json *j, const struct nl_knob *k)
{
	nl_json_text(j, "knob", k->ops->kind);
	nl_json_text(j, "name", k->name[0] ? k->name : NULL);
	nl_json_text(j, "interface", k->interface[0] ? k->interface : NULL);
}

static void send_reverted(void *context, const struct nl_knob *k, enum nl_reverted status,
			  const char *found, const char *reason)
{
	struct tune *t = context;
	struct nl_json *j = nl_serve_event(&t->serve, "reverted");

	put_knob(j, k);
	nl_json_text(j, "status", nl_reverted_word(status));
	nl_json_text(j, "found", found[0] || !reason ? found : NULL);
	nl_json_text(j, "reason", reason);
	nl_serve_finish(&t->serve);
}

static void send_changed(struct tune *t, const char *event, const char *what, const char *was, const char *now)
{
	struct nl_json *j = nl_serve_event(&t->serve, event);

	nl_json_text(j, "what", what);
	nl_json_text(j, "was", was);
	nl_json_text(j, "found", now);
	nl_serve_finish(&t->serve);
}

static void send_unrestored(void *context, const char *what, const char *was, const char *now)
{
	send_changed(context, "unrestored", what, was, now);
}

static void send_beside(void *context, const char *what, const char *was, const char *now)
{
	send_changed(context, "beside", what, was, now);
}

static struct nl_host_report report_to(struct tune *t)
{
	return (struct nl_host_report){send_reverted, send_unrestored, t};
}

static int send_sum(struct tune *t, const char *event, const struct nl_host_sum *sum, unsigned conflicts)
{
	struct nl_json *j = nl_serve_event(&t->serve, event);

	PUT_MEMBERS(j, {"conflicts", conflicts}, {"absent", sum->knobs.of[NL_ABSENT]},
		    {"failed", sum->knobs.of[NL_FAILED]});
	if (sum->unrestored)
		nl_json_u64(j, "unrestored", sum->unrestored);
	if (sum->uncompared)
		nl_json_array(j, "uncompared");
	for (int kind = 0; kind < NL_STATE_KINDS; kind++)
		if (sum->uncompared & (1U << kind))
			nl_json_text(j, NULL, nl_state_word((enum nl_state_kind)kind));
	if (sum->uncompared)
		nl_json_array_end(j);
	if (sum->knobs.of[NL_FAILED] || sum->knobs.of[NL_ABSENT])
		t->serve.failed = 1;
	return nl_serve_finish(&t->serve);
}

/* Whether a knob, or all members of a kind, can be read and written, and why not. */
static void put_knob_state(struct nl_json *j, enum nl_knob_code code, int writable, const struct nl_err *why)
{
	nl_json_bool(j, "supported", code == NL_KNOB_OK);
	nl_json_bool(j, "writable", code == NL_KNOB_OK && writable);
	nl_json_text(j, "reason", why->message[0] ? why->message : NULL);
}

/* -- requests ----------------------------------------------------------------------- */

static int parse_knob(struct nl_request *request, struct nl_knob *k, struct nl_err *err)
{
	const char *kind = nl_request_get(request, "knob"), *name = nl_request_get(request, "name");

	return nl_knob_parse(k, kind, name, nl_request_get(request, "interface"), err);
}

static int do_read(void *context, struct nl_request *request, struct nl_err *err)
{
	const char *text = NULL;
	struct tune *t = context;
	struct nl_err why = {0};
	struct nl_value value;
	enum nl_knob_code code;
	struct nl_json *j;
	struct nl_knob k;

	if (parse_knob(request, &k, err))
		return err->code;
	if (k.ops->can)
		text = nl_request_get(request, "value");
	if (nl_request_only_known(request, err) || (text && nl_knob_check_value(&k, text, err)) ||
	    nl_session_keepalive(&t->session, err))
		return err->code;
	code = nl_knob_read(&k, &value, &why);
	if (code == NL_KNOB_OK && text)
		code = k.ops->can(&k, text, &why);
	if (code == NL_KNOB_FAILED)
		return nl_fail(err, NL_LIMIT, "%s", why.message);
	j = nl_serve_event(&t->serve, "value");
	put_knob(j, &k);
	nl_json_text(j, "value", code == NL_KNOB_OK ? value.text : NULL);
	put_knob_state(j, code, value.access == NL_KNOB_WRITABLE, &why);
	if (code == NL_KNOB_OK && value.most)
		nl_json_u64(j, "most", value.most);
	return nl_serve_finish(&t->serve);
}

/* The members of a kind that has many, with their values: one answer instead of a read for each. */
static int do_list(void *context, struct nl_request *request, struct nl_err *err)
{
	static struct nl_members members; /* large for a stack */
	const char *kind = nl_request_get(request, "knob");
	struct tune *t = context;
	struct nl_err why = {0};
	struct nl_value value;
	enum nl_knob_code code;
	struct nl_json *j;
	struct nl_knob k;
	int writable = 1;

	if (nl_knob_parse(&k, kind, "0", nl_request_get(request, "interface"), err) ||
	    nl_request_only_known(request, err))
		return err->code;
	if (!k.ops->has_members)
		return nl_fail_key(err, "knob", "knob: expected governor or irq");
	if (nl_session_keepalive(&t->session, err))
		return err->code;
	code = nl_knob_members(&k, &members, &why);
	j = nl_serve_event(&t->serve, "listed");
	nl_json_open(j, "values");
	for (size_t i = 0; code == NL_KNOB_OK && i < members.count; i++) {
		snprintf(k.name, sizeof(k.name), "%u", members.of[i].number);
		code = nl_knob_read(&k, &value, &why);
		if (code == NL_KNOB_OK)
			nl_json_text(j, k.name, value.text);
		writable &= value.access == NL_KNOB_WRITABLE;
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
	nl_json_text(j, "knob", k.ops->kind);
	nl_json_text(j, "interface", k.interface[0] ? k.interface : NULL);
	nl_json_text(j, "online", members.online);
	nl_json_text(j, "near", members.near);
	put_knob_state(j, code, writable, &why);
	return nl_serve_finish(&t->serve);
}

static int do_begin(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;

	(void)request;
	if (t->session.live)
		return nl_fail(err, NL_BAD_REQUEST, "a session is open already: send `end` first");
	if (nl_session_begin(&t->session, t->hold_ns, err))
		return err->code;
	nl_serve_event(&t->serve, "begun");
	return nl_serve_finish(&t->serve);
}

static int do_set(void *context, struct nl_request *request, struct nl_err *err)
{
	static const char *const names[] = {"applied", "unchanged", "unsupported", "refused",
					    "differs"};
	struct tune *t = context;
	const char *value = nl_request_get(request, "value"), *stated = nl_request_get(request, "risk");
	const struct nl_set_risk risk = {send_beside, t};
	struct nl_set_result r;
	struct nl_json *j;
	struct nl_knob k;
	int is_risky;

	if (parse_knob(request, &k, err))
		return err->code;
	if (!value)
		return nl_fail_key(err, "value", "the key `value` is missing");
	is_risky = stated && strcmp(stated, "1") == 0;
	if (stated && !is_risky)
		return nl_fail_key(err, "risk", "risk: expected 1");
	if (nl_knob_check_value(&k, value, err) || nl_request_only_known(request, err) ||
	    nl_session_enter(&t->session, err))
		return err->code;
	nl_session_set(&t->session, &k, value, is_risky ? &risk : NULL, &r);
	nl_session_leave(&t->session);
	j = nl_serve_event(&t->serve, "set");
	put_knob(j, &k);
	nl_json_text(j, "old", r.has_old ? r.old.text : NULL);
	nl_json_text(j, "value", value);
	nl_json_text(j, "readback", r.has_readback ? r.readback.text : NULL);
	nl_json_text(j, "status", names[r.status]);
	nl_json_text(j, "reason", r.why.message[0] ? r.why.message : NULL);
	return nl_serve_finish(&t->serve);
}

static void send_drift(void *context, const struct nl_knob *k, const char *expected,
		       const char *found)
{
	struct tune *t = context;
	struct nl_json *j = nl_serve_event(&t->serve, "drift");

	put_knob(j, k);
	nl_json_text(j, "expected", expected);
	nl_json_text(j, "found", found);
	nl_serve_finish(&t->serve);
}

static int do_verify(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;
	unsigned drifted;

	(void)request;
	if (nl_session_enter(&t->session, err))
		return err->code;
	drifted = nl_session_verify(&t->session, send_drift, t);
	nl_session_leave(&t->session);
	nl_json_u64(nl_serve_event(&t->serve, "verified"), "drifted", drifted);
	return nl_serve_finish(&t->serve);
}

static int do_revert(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;
	struct nl_host_report report = report_to(t);
	struct nl_host_sum sum;

	(void)request;
	if (nl_session_enter(&t->session, err))
		return err->code;
	sum = nl_session_revert(&t->session, &report);
	nl_session_leave(&t->session);
	return send_sum(t, "reverted_all", &sum, sum.knobs.of[NL_CONFLICT] + sum.unrestored);
}

static int do_keepalive(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;

	(void)request;
	if (nl_session_keepalive(&t->session, err))
		return err->code;
	nl_serve_event(&t->serve, "alive");
	return nl_serve_finish(&t->serve);
}

/* Revert, close the session and answer `ended`; also at the end of input. NL_OK or an error. */
static int do_end(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;
	struct nl_host_report report = report_to(t);
	struct nl_host_sum sum;

	(void)request;
	if (!t->session.live)
		return nl_session_enter(&t->session, err);
	if (nl_session_end(&t->session, &report, &sum, err))
		return err->code;
	return send_sum(t, "ended", &sum, t->session.sum.of[NL_CONFLICT]);
}

static int do_recover(void *context, struct nl_request *request, struct nl_err *err)
{
	struct tune *t = context;
	struct nl_host_report report = report_to(t);
	struct nl_host_sum sum;

	(void)request;
	if (t->session.live)
		return nl_fail(err, NL_BAD_REQUEST, "a session is open: send `recover` before `begin`");
	if (nl_session_recover(&t->session, &report, &sum, err))
		return err->code;
	return send_sum(t, "reverted_all", &sum, sum.knobs.of[NL_CONFLICT] + sum.unrestored);
}

static const struct nl_verb verbs[] = {
	{"read", do_read, 0},         {"list", do_list, 0},     {"set", do_set, 0},
	{"begin", do_begin, 1},       {"verify", do_verify, 1}, {"revert", do_revert, 1},
	{"keepalive", do_keepalive, 1}, {"end", do_end, 1},     {"recover", do_recover, 1},
	{NULL, NULL, 0},
};

/* -- the process -------------------------------------------------------------------- */

int nl_tune_main(int argc, char **argv)
{
	enum { HOLD_MAX_S = 86400 };
	static struct tune t; /* large for a stack; the process has one */
	uint64_t hold_s = 0, silence_s = 0;
	const struct nl_argument row[] = {
		{.name = "hold-s", .value = "N", .initial = "30",
		 .help = "revert after N s without a request", .min = 1, .max = HOLD_MAX_S,
		 .count = &hold_s},
		nl_serve_silence_argument(&silence_s),
	};
	const struct nl_command_line line = {
		.cmd = "tune",
		.about = "Reads, applies and reverts knobs of this host; requests come from standard "
			 "input.\n",
		.row = row,
		.rows = sizeof(row) / sizeof(row[0])};
	enum nl_serve_end end;
	struct nl_err err = {0};
	int code = nl_arguments_parse(&line, argc, argv, NULL, &err);

	t.serve = (struct nl_serve){.verbs = verbs, .context = &t, .in_fd = STDIN_FILENO,
				    .out_fd = STDOUT_FILENO, .signal_fd = -1};
	t.serve.silence_ns = silence_s * NL_NS_PER_S;
	t.hold_ns = hold_s * NL_NS_PER_S;
	if (code == NL_ARGUMENTS_HELP) {
		nl_arguments_help(&line, stdout);
		return 0;
	}
	if (code) {
		nl_serve_error(&t.serve, NULL, &err);
		return 2;
	}
	nl_revert_reserve();
	signal(SIGPIPE, SIG_IGN);
	t.serve.signal_fd = nl_signals_open();
	if (t.serve.signal_fd < 0) {
		nl_fail_errno(&err, errno, "signalfd");
		nl_serve_error(&t.serve, NULL, &err);
		return 1;
	}
	nl_json_bool(nl_serve_ready(&t.serve), "may_write", nl_knob_may_write());
	nl_json_u64(&t.serve.json, "stale", nl_session_init(&t.session));
	nl_json_text(&t.serve.json, "note", nl_journal_note());
	nl_serve_finish(&t.serve);
	end = t.serve.stop ? NL_SERVE_OUTPUT_LOST : nl_serve_run(&t.serve);
	if (t.session.live && do_end(&t, NULL, &err))
		nl_serve_error(&t.serve, NULL, &err);
	nl_json_free(&t.serve.json);
	close(t.serve.signal_fd);
	return t.serve.failed || end == NL_SERVE_SIGNALLED || end == NL_SERVE_FAILED ||
	       end == NL_SERVE_SILENT;
}
