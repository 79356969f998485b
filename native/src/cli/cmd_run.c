/* gensink gen and gensink sink: one run, with a running report. */
#include "base/arguments.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/run_arguments.h"
#include "run/report_json.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

struct execution {
	struct nl_run *run;
	struct nl_err err;
	int code;
	pthread_t main; /* receives NL_SIGNAL_DONE at the end */
};

static void *execute(void *argument)
{
	struct execution *execution = argument;

	execution->code = nl_run_execute(execution->run, &execution->err);
	pthread_kill(execution->main, NL_SIGNAL_DONE);
	return NULL;
}

static int zero_token(const struct nl_run_opts *opts)
{
	static const uint8_t zero[NL_TOKEN_B];

	return memcmp(opts->token, zero, sizeof(zero)) == 0;
}

static void print_how_to_join(const struct nl_run_opts *opts, uint32_t port)
{
	fprintf(stderr, "listening; at the other host, with the token below on its standard "
			"input:\n  gensink gen --to %s --port %u --streams %llu"
			" --run %llu --token -\n",
		opts->address, port, (unsigned long long)opts->streams,
		(unsigned long long)opts->run);
	for (int i = 0; i < NL_TOKEN_B; i++)
		fprintf(stderr, "%02x", opts->token[i]);
	fputc('\n', stderr);
}

/* Report once per second until the run ends or the user interrupts it. */
static void watch(struct execution *execution, const sigset_t *signals, int quiet)
{
	uint64_t start_ns = 0, last_ns, last_bytes, t_ns, bytes;

	last_bytes = nl_run_progress(execution->run, &last_ns);
	for (;;) {
		struct timespec second = {.tv_sec = 1};
		int which = sigtimedwait(signals, NULL, &second);

		if (which == NL_SIGNAL_DONE)
			return;
		if (which > 0) {
			nl_run_stop(execution->run);
			continue;
		}
		bytes = nl_run_progress(execution->run, &t_ns);
		if (bytes && !start_ns)
			start_ns = last_ns;
		if (start_ns && !quiet) {
			printf("%8.1f MB/s  %12.1f MB  %7.1f s  average %8.1f MB/s\n",
			       (double)(bytes - last_bytes) * 1e3 / (double)(t_ns - last_ns),
			       (double)bytes / 1e6, (double)(t_ns - start_ns) / 1e9,
			       (double)bytes * 1e3 / (double)(t_ns - start_ns));
			fflush(stdout);
		}
		last_ns = t_ns;
		last_bytes = bytes;
	}
}

static void print_summary(const struct nl_report *report)
{
	uint64_t span_ns = report->window_t1_ns - report->window_t0_ns;
	const char *what = report->role == NL_GEN ? "sent" : "goodput";
	uint64_t retransmits = 0;

	for (uint64_t i = 0; i < report->streams; i++)
		retransmits += report->per_stream[i].tcp.retransmits;
	printf("%s %.3f MB/s over a window of %.3f s, %llu streams, %.1f MB in all",
	       what, span_ns ? (double)report->window_bytes * 1e3 / (double)span_ns : 0.0,
	       (double)span_ns / 1e9, (unsigned long long)report->streams,
	       (double)report->total_bytes / 1e6);
	if (report->role == NL_GEN)
		printf(", %llu retransmits", (unsigned long long)retransmits);
	printf("\n");
	if (report->status != NL_STATUS_OK)
		fprintf(stderr, "gensink: %s\n", report->err.message);
}

static int run_cmd(const char *cmd, const struct nl_run_opts *opts, int json)
{
	struct execution execution = {.main = pthread_self()};
	const struct nl_report *report;
	struct nl_err err;
	pthread_t thread;
	sigset_t signals;
	int errnum, code = nl_run_open(opts, &execution.run, &err);

	if (code)
		return nl_cli_fail(cmd, &err);
	nl_signals_block(&signals);
	if (opts->role == NL_SINK)
		print_how_to_join(opts, nl_run_port(execution.run));
	errnum = pthread_create(&thread, NULL, execute, &execution);
	if (errnum) {
		nl_run_free(execution.run);
		nl_fail_errno(&err, errnum, "thread of the run");
		return nl_cli_fail(cmd, &err);
	}
	watch(&execution, &signals, json);
	pthread_join(thread, NULL);
	if (execution.code) {
		nl_run_free(execution.run);
		return nl_cli_fail(cmd, &execution.err);
	}
	report = nl_run_report(execution.run);
	if (json) {
		struct nl_json line;

		nl_json_init(&line);
		nl_json_report(&line, report);
		code = nl_cli_print(&line, &err);
	} else {
		print_summary(report);
	}
	if (report->status != NL_STATUS_OK)
		code = 1;
	nl_run_free(execution.run);
	return code ? 1 : 0;
}

static int cmd_main(int role, int argc, char **argv)
{
	struct nl_run_arguments arguments;
	struct nl_err err;
	int code = nl_run_arguments_parse(&arguments, role, argc, argv, &err);

	if (code == NL_ARGUMENTS_HELP) {
		nl_run_arguments_help(argv[0], role);
		return 0;
	}
	if (code)
		return nl_cli_fail(argv[0], &err);
	/* a sink never uses a guessable token */
	if (role == NL_SINK && zero_token(&arguments.opts) &&
	    getrandom(arguments.opts.token, NL_TOKEN_B, 0) != NL_TOKEN_B) {
		nl_fail_errno(&err, errno, "getrandom");
		return nl_cli_fail(argv[0], &err);
	}
	return run_cmd(argv[0], &arguments.opts, arguments.json);
}

int nl_gen_main(int argc, char **argv)
{
	return cmd_main(NL_GEN, argc, argv);
}

int nl_sink_main(int argc, char **argv)
{
	return cmd_main(NL_SINK, argc, argv);
}
