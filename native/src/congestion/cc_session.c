#include "commands.h"

#include "base/error.h"
#include "base/json.h"
#include "base/serve.h"
#include "base/process.h"
#include "congestion/cc_bpf.h"
#include "congestion/cc_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOADED_MAX = 32 };

struct cc_session {
	struct nl_serve serve;
	struct nl_cc_loaded *loaded[LOADED_MAX]; /* without gaps, in the order of loading */
	int count;
};

static void send_controls_ready(struct cc_session *s)
{
	char why[NL_MESSAGE_MAX];
	int supported = nl_cc_supported(why);
	struct nl_json *j = nl_serve_ready(&s->serve);

	nl_json_bool(j, "supported", supported);
	nl_json_text(j, "reason", supported ? NULL : why);
	nl_json_array(j, "controls");
	for (int i = 0; i < NL_CC_COUNT; i++) {
		nl_json_open(j, NULL);
		nl_json_text(j, "cc", nl_cc_table[i].name);
		nl_json_u64(j, "revision", nl_cc_table[i].revision);
		nl_json_text(j, "sha256", nl_cc_sha256(i));
		nl_json_close(j);
	}
	nl_json_array_end(j);
	nl_serve_finish(&s->serve);
}

static int request_load(void *context, struct nl_request *request, struct nl_err *err)
{
	struct cc_session *s = context;
	struct nl_cc_params params;
	struct nl_json *j;
	int cc = nl_cc_from_request(request, &params, err);

	if (cc < 0)
		return err->code;
	if (s->count == LOADED_MAX)
		return nl_fail(err, NL_LIMIT, "limit of %d loaded congestion controls reached", LOADED_MAX);
	s->loaded[s->count] = nl_cc_load(cc, &params, err);
	if (!s->loaded[s->count])
		return err->code;
	j = nl_serve_event(&s->serve, "loaded");
	nl_json_text(j, "name", nl_cc_name(s->loaded[s->count++]));
	nl_json_text(j, "cc", nl_cc_table[cc].name);
	nl_json_u64(j, "revision", nl_cc_table[cc].revision);
	nl_json_text(j, "sha256", nl_cc_sha256(cc));
	for (size_t i = 0; i < nl_cc_table[cc].options; i++)
		nl_json_u64(j, nl_cc_table[cc].option[i].key,
			    nl_cc_option_value(&params, &nl_cc_table[cc].option[i]));
	return nl_serve_finish(&s->serve);
}

static void session_unload(struct cc_session *s, int at)
{
	char name[NL_CC_NAME_MAX + 1] = "";

	strncat(name, nl_cc_name(s->loaded[at]), NL_CC_NAME_MAX);
	nl_cc_unload(s->loaded[at]);
	s->count--;
	memmove(&s->loaded[at], &s->loaded[at + 1], (size_t)(s->count - at) * sizeof(s->loaded[0]));
	nl_json_text(nl_serve_event(&s->serve, "unloaded"), "name", name);
	nl_serve_finish(&s->serve);
}

static int request_unload(void *context, struct nl_request *request, struct nl_err *err)
{
	struct cc_session *s = context;
	const char *name = nl_request_get(request, "name");

	if (nl_request_only_known(request, err))
		return err->code;
	for (int i = 0; name && i < s->count; i++) {
		if (strcmp(nl_cc_name(s->loaded[i]), name) == 0) {
			session_unload(s, i);
			return NL_OK;
		}
	}
	return nl_fail_key(err, "name", "name: not loaded by this process");
}

static const struct nl_verb verbs[] = {
	{"load", request_load, 0}, {"unload", request_unload, 0},
	{"ping", NULL, 1},         {"quit", NULL, 1},
	{NULL, NULL, 0},
};

int nl_cc_session_serve(int in_fd, int out_fd, uint64_t silence_ns)
{
	struct cc_session *s = calloc(1, sizeof(*s));
	int signal_fd = s ? nl_signals_open() : -1, failed = 1;
	enum nl_serve_end end;

	if (signal_fd >= 0) {
		s->serve = (struct nl_serve){.verbs = verbs, .context = s, .in_fd = in_fd, .out_fd = out_fd,
					     .signal_fd = signal_fd, .silence_ns = silence_ns};
		send_controls_ready(s);
		end = s->serve.stop ? NL_SERVE_OUTPUT_LOST : nl_serve_run(&s->serve);
		failed = s->serve.output_lost || (end != NL_SERVE_INPUT_ENDED && end != NL_SERVE_STOPPED);
		while (s->count)
			session_unload(s, s->count - 1);
		nl_json_free(&s->serve.json);
		close(signal_fd);
	}
	free(s);
	return failed;
}
