#include "cli/run_arguments.h"

#include "base/arguments.h"
#include "base/error.h"
#include "base/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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
