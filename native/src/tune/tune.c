/* tune: the process of `gensink tune`: options, signals and the serve loop. */
#include "tune/tune.h"

#include "base/arguments.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/signals.h"
#include "tune/tune_cmd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void send_ready(struct tune *t, unsigned stale)
{
	struct nl_json *j = &t->json;
	char hostname[256] = "";

	gethostname(hostname, sizeof(hostname) - 1);
	nl_json_reset(j);
	nl_serve_ready(j);
	nl_json_text(j, "hostname", hostname);
	nl_json_bool(j, "may_write", nl_knob_may_write());
	nl_json_u64(j, "stale", stale);
	nl_tune_finish(t);
}

/* NL_OK, NL_ARGUMENTS_HELP after the help is printed, or a code with *err filled. */
static int parse_options(struct tune *t, int argc, char **argv, struct nl_err *err)
{
	enum { HOLD_MAX_S = 86400 };
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
	int code = nl_arguments_parse(&line, argc, argv, NULL, err);

	if (code == NL_ARGUMENTS_HELP)
		nl_arguments_help(&line, stdout);
	t->hold_ns = hold_s * NL_NS_PER_S;
	t->serve.silence_ns = silence_s * NL_NS_PER_S;
	return code;
}

static int open_tune(struct tune *t, struct nl_err *err)
{
	sigset_t signals;

	nl_revert_reserve();
	signal(SIGPIPE, SIG_IGN);
	nl_signals_block(&signals);
	t->serve.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t->serve.signal_fd < 0)
		return nl_fail_errno(err, errno, "signalfd");
	return NL_OK;
}

int nl_tune_main(int argc, char **argv)
{
	static struct tune t; /* large for a stack; the process has one */
	enum nl_serve_end end;
	struct nl_err err = {0};
	int code;

	nl_json_init(&t.json);
	t.serve = (struct nl_serve){.verbs = nl_tune_verbs,
				    .verb_count = nl_tune_verb_count,
				    .context = &t,
				    .answer_error = nl_tune_send_error,
				    .in_fd = STDIN_FILENO,
				    .out_fd = STDOUT_FILENO,
				    .broken_fd = -1,
				    .signal_fd = -1};
	code = parse_options(&t, argc, argv, &err);
	if (code == NL_ARGUMENTS_HELP)
		return 0;
	if (code) {
		nl_tune_send_error(&t, NULL, &err);
		return 2;
	}
	if (open_tune(&t, &err)) {
		nl_tune_send_error(&t, NULL, &err);
		return 1;
	}
	send_ready(&t, nl_session_init(&t.session));
	end = t.serve.stop ? NL_SERVE_OUTPUT_LOST : nl_serve_run(&t.serve);
	if (t.session.live && nl_tune_end_session(&t, &err))
		nl_tune_send_error(&t, NULL, &err);
	nl_json_free(&t.json);
	close(t.serve.signal_fd);
	return t.failed || end == NL_SERVE_SIGNALLED || end == NL_SERVE_FAILED ||
	       end == NL_SERVE_SILENT;
}
