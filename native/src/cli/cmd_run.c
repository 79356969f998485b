/* gensink gen and gensink sink: one run, with a running report. */
#include "base/arguments.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/request.h"
#include "cli/cli.h"
#include "commands.h"
#include "run/report_json.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { BOTH = NL_SINK | NL_GEN };

struct rows {
	struct nl_argument row[NL_ARGUMENTS_MAX];
	const char *text[NL_ARGUMENTS_MAX];
	const struct nl_option *option[NL_ARGUMENTS_MAX]; /* of the row; NULL: json */
	size_t count;
};

/* List json and the options of the roles. */
static void list_rows(struct rows *out, int roles, int *json)
{
	size_t options;
	const struct nl_option *table = nl_options(&options);

	memset(out, 0, sizeof(*out));
	out->row[out->count++] = (struct nl_argument){
		.name = "json", .help = "print the report as a line of JSON", .given = json};
	for (size_t i = 0; i < options && out->count < NL_ARGUMENTS_MAX; i++) {
		if (!(table[i].roles & (uint32_t)roles))
			continue;
		out->option[out->count] = &table[i];
		out->row[out->count] = (struct nl_argument){.name = table[i].name,
							    .initial = table[i].initial,
							    .help = table[i].help,
							    .text = &out->text[out->count]};
		out->count++;
	}
}

/* Every user of a host sees its command lines, so a token comes from a file or standard input ("-"). */
static int read_token(struct nl_run_opts *opts, const char *where, struct nl_err *err)
{
	char text[2 * NL_TOKEN_B + 2];
	uint8_t token[NL_TOKEN_B];
	size_t have = 0;
	ssize_t n = 1;
	int fd = STDIN_FILENO;

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
	if (fd < 0 || n < 0)
		nl_fail_key(err, "token", "the token's file %.200s: %s", where, strerror(errno));
	if (fd > STDIN_FILENO)
		close(fd);
	if (fd < 0 || n < 0)
		return NL_BAD_REQUEST;
	text[have] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return nl_run_opts_set(opts, "token", text, err);
}

static int set_options(struct nl_run_opts *opts, const struct rows *rows, struct nl_err *err)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct nl_option *option = rows->option[i];
		int code;

		if (!rows->text[i])
			continue;
		if (option->kind == NL_KIND_TOKEN)
			code = read_token(opts, rows->text[i], err);
		else
			code = nl_run_opts_set(opts, option->name, rows->text[i], err);
		if (code)
			return code;
	}
	return NL_OK;
}

static int is_given(const struct rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->text[i] && strcmp(rows->row[i].name, name) == 0)
			return 1;
	return 0;
}

int nl_run_arguments_parse(struct nl_run_arguments *out, int role, int argc, char **argv,
			   struct nl_err *err)
{
	struct nl_command_line line = {.cmd = argv[0]};
	struct nl_run_opts *opts = &out->opts;
	struct rows rows;
	int code;

	/* Options of the other role too: else getopt_long takes --to for a short --token. */
	list_rows(&rows, BOTH, &out->json);
	line.row = rows.row;
	line.rows = rows.count;
	nl_run_opts_init(opts, role);
	code = nl_arguments_parse(&line, argc, argv, NULL, err);
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

void nl_run_arguments_help(const char *cmd, int role)
{
	struct rows rows;
	int json;
	struct nl_command_line line = {
		.cmd = cmd,
		.about = role == NL_GEN ? "Sends over parallel TCP streams to a sink.\n"
					: "Receives from a gen and measures. Without --token the sink "
					  "generates one and\nprints the command for the gen.\n",
		.more = "Names may use - for _. --name=value is the same as --name value.\n"};

	list_rows(&rows, role, &json);
	line.row = rows.row;
	line.rows = rows.count;
	nl_arguments_help(&line, stdout);
}

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
		struct nl_json line = {0};

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
