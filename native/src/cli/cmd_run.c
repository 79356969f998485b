/* gensink gen and gensink sink: one run, with a running report. */
#include "base/arguments.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/request.h"
#include "cli/cli.h"
#include "commands.h"
#include "run/report_json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { BOTH = NL_SINK | NL_GEN };

enum { UNSUCCESSFUL = -1 }; /* its report says why */

/* The command lines of `gensink gen` and `gensink sink`. */
struct run_arguments {
	struct nl_run_opts opts;
	int json;
};

struct rows {
	struct nl_argument row[NL_ARGUMENTS_MAX];
	const char *text[NL_ARGUMENTS_MAX];
	const struct nl_option *option[NL_ARGUMENTS_MAX]; /* of the row; NULL: json, or none */
};

static void list_rows(struct rows *out, int roles, int *json, struct nl_command_line *line)
{
	size_t options, n = 1;
	const struct nl_option *table = nl_options(&options);

	memset(out, 0, sizeof(*out));
	out->row[0] = (struct nl_argument){
		.name = "json", .help = "print the report as a line of JSON", .given = json};
	for (size_t i = 0; i < options && n < NL_ARGUMENTS_MAX; i++) {
		if (!(table[i].roles & (uint32_t)roles))
			continue;
		out->option[n] = &table[i];
		out->row[n] = (struct nl_argument){.name = table[i].name, .initial = table[i].initial,
						   .help = table[i].help, .text = &out->text[n]};
		n++;
	}
	line->row = out->row;
	line->rows = n;
}

/* Every user of a host sees its command lines, so a token comes from a file or standard input ("-"). */
static int read_token(struct nl_run_opts *opts, const char *where, struct nl_err *err)
{
	char text[2 * NL_TOKEN_B + 2];
	uint8_t token[NL_TOKEN_B];
	size_t have = 0;
	ssize_t n = 1;
	int fd = STDIN_FILENO, failed;

	if (nl_hex_parse(where, token, sizeof(token)) == 0)
		return nl_fail_key(err, "token",
				   "every user of this host sees a token on the command line: name a "
				   "file that has it, or - for standard input");
	if (strcmp(where, "-") != 0)
		fd = open(where, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n > 0 && have < sizeof(text) - 1 && !memchr(text, '\n', have)) {
		n = read(fd, text + have, sizeof(text) - 1 - have);
		have += n > 0 ? (size_t)n : 0;
	}
	failed = fd < 0 || n < 0;
	if (fd > STDIN_FILENO)
		nl_close(&fd);
	if (failed)
		return nl_fail_key(err, "token", "the token's file %.200s: %s", where, strerror(errno));
	text[have] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return nl_run_opts_set(opts, "token", text, err);
}

static int set_options(struct nl_run_opts *opts, const struct rows *rows, struct nl_err *err)
{
	for (size_t i = 0; i < NL_ARGUMENTS_MAX; i++) {
		const char *text = rows->text[i];

		if (text && (rows->option[i]->kind == NL_KIND_TOKEN
				     ? read_token(opts, text, err)
				     : nl_run_opts_set(opts, rows->option[i]->name, text, err)))
			return err->code;
	}
	return NL_OK;
}

static int is_given(const struct rows *rows, const char *name)
{
	for (size_t i = 0; i < NL_ARGUMENTS_MAX; i++)
		if (rows->text[i] && strcmp(rows->row[i].name, name) == 0)
			return 1;
	return 0;
}

/* Parse the options of a role: those of nl_options(), and json. A missing option keeps its default.
 * NL_OK, NL_ARGUMENTS_HELP after the help is printed, or a code with *err filled. */
static int run_parse_arguments(struct run_arguments *out, int role, int argc, char **argv, struct nl_err *err)
{
	struct nl_command_line line = {
		.cmd = argv[0],
		.about = role == NL_GEN ? "Sends over parallel TCP streams to a sink.\n"
					: "Receives from a gen and measures. Without --token the sink "
					  "generates one and\nprints the command for the gen.\n",
		.more = "Names may use - for _. --name=value is the same as --name value.\n"};
	struct nl_run_opts *opts = &out->opts;
	struct rows rows;
	int code;

	/* Options of the other role too: else getopt_long takes --to for a short --token. */
	list_rows(&rows, BOTH, &out->json, &line);
	nl_run_opts_init(opts, role);
	code = nl_arguments_parse(&line, argc, argv, NULL, err);
	if (code == NL_ARGUMENTS_HELP) {
		list_rows(&rows, role, &out->json, &line);
		nl_arguments_help(&line, stdout);
	}
	if (!code)
		code = set_options(opts, &rows, err);
	if (code)
		return code;
	if (opts->bytes && !is_given(&rows, "window_ms"))
		opts->window_ms = 0;
	if (role == NL_GEN && !is_given(&rows, "token"))
		return nl_fail_key(err, "token", "--token is missing: the sink prints it");
	return nl_run_opts_check(opts, err);
}

struct execution {
	struct nl_run *run;
	struct nl_err err;
	int code;
	pthread_t main; /* receives NL_SIGNAL_DONE at the end */
};

static void *execution_thread(void *argument)
{
	struct execution *execution = argument;

	execution->code = nl_run_execute(execution->run, &execution->err);
	pthread_kill(execution->main, NL_SIGNAL_DONE);
	return NULL;
}

static void print_how_to_join(const struct nl_run_opts *opts, uint32_t port)
{
	fprintf(stderr, "listening; at the other host, with the token below on its standard input:\n"
			"  gensink gen --to %s --port %u --streams %" PRIu64 " --run %" PRIu64 " --token -\n",
		opts->address, port, opts->streams, opts->run);
	for (int i = 0; i < NL_TOKEN_B; i++)
		fprintf(stderr, "%02x", opts->token[i]);
	fputc('\n', stderr);
}

/* Report once per second until the run ends or the user interrupts it. */
static void execution_watch(struct execution *execution, const sigset_t *signals, int quiet)
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
	uint64_t retransmits = 0;

	for (uint64_t i = 0; i < report->streams; i++)
		retransmits += report->per_stream[i].tcp.retransmits;
	printf("%s %.3f MB/s over a window of %.3f s, %" PRIu64 " streams, %.1f MB in all",
	       report->role == NL_GEN ? "sent" : "goodput",
	       span_ns ? (double)report->window_bytes * 1e3 / (double)span_ns : 0.0,
	       (double)span_ns / 1e9, report->streams, (double)report->total_bytes / 1e6);
	if (report->role == NL_GEN)
		printf(", %" PRIu64 " retransmits", retransmits);
	printf("\n");
	if (report->status != NL_STATUS_OK)
		fprintf(stderr, "gensink: %s\n", report->err.message);
}

static int run_cmd(const struct nl_run_opts *opts, int json, struct nl_err *err)
{
	struct execution execution = {.main = pthread_self()};
	const struct nl_report *report;
	pthread_t thread;
	sigset_t signals;
	int errnum, code = nl_run_open(opts, &execution.run, err);

	if (code)
		return code;
	nl_signals_block(&signals);
	if (opts->role == NL_SINK)
		print_how_to_join(opts, nl_run_port(execution.run));
	errnum = pthread_create(&thread, NULL, execution_thread, &execution);
	if (errnum) {
		nl_run_free(execution.run);
		return nl_fail_errno(err, errnum, "thread of the run");
	}
	execution_watch(&execution, &signals, json);
	pthread_join(thread, NULL);
	code = execution.code;
	*err = execution.err;
	report = nl_run_report(execution.run);
	if (!code && json) {
		struct nl_json line = {0};

		nl_json_report(&line, report);
		code = nl_cli_print(&line, err);
	} else if (!code) {
		print_summary(report);
	}
	if (!code && report->status != NL_STATUS_OK)
		code = UNSUCCESSFUL;
	nl_run_free(execution.run);
	return code;
}

int nl_run_main(int argc, char **argv)
{
	static const uint8_t zero[NL_TOKEN_B];
	struct run_arguments arguments;
	struct nl_run_opts *opts = &arguments.opts;
	int role = strcmp(argv[0], "gen") == 0 ? NL_GEN : NL_SINK;
	struct nl_err err;
	int code = run_parse_arguments(&arguments, role, argc, argv, &err);

	if (code == NL_ARGUMENTS_HELP)
		return 0;
	/* a sink never uses a guessable token */
	if (!code && role == NL_SINK && memcmp(opts->token, zero, NL_TOKEN_B) == 0 &&
	    getrandom(opts->token, NL_TOKEN_B, 0) != NL_TOKEN_B)
		code = nl_fail_errno(&err, errno, "getrandom");
	if (!code)
		code = run_cmd(opts, arguments.json, &err);
	if (code == UNSUCCESSFUL)
		return 1;
	return code ? nl_cli_fail(argv[0], &err) : 0;
}
