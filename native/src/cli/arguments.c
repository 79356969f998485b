#include "cli/arguments.h"

#include "base/error.h"
#include "base/request.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Return values of getopt_long; row i of the table returns ROW + i. No character is as large. */
enum { JSON = 256, HELP, ROW, ROWS_MAX = 64 };

struct spellings {
	struct option option[2 * ROWS_MAX + 3]; /* ends with a row of zeros */
	char dashed[ROWS_MAX][NL_NAME_MAX];     /* names with - for _ */
};

/* Options of the other role are listed too: else getopt_long takes --to for a short --token. */
static void list_spellings(struct spellings *out)
{
	size_t rows, count = 0;
	const struct nl_option *table = nl_options(&rows);

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < rows && i < ROWS_MAX; i++) {
		struct option option = {table[i].name, required_argument, NULL, ROW + (int)i};

		out->option[count++] = option;
		if (!strchr(table[i].name, '_'))
			continue;
		for (size_t k = 0; table[i].name[k] && k < NL_NAME_MAX - 1; k++)
			out->dashed[i][k] = table[i].name[k] == '_' ? '-' : table[i].name[k];
		option.name = out->dashed[i];
		out->option[count++] = option;
	}
	out->option[count++] = (struct option){"json", no_argument, NULL, JSON};
	out->option[count++] = (struct option){"help", no_argument, NULL, HELP};
}

int nl_arguments_fail(int found, char *const *argv, struct nl_err *err)
{
	const char *text = argv[optind - 1];

	if (found == ':')
		return nl_fail_key(err, text, "%s needs a value", text);
	if (optopt >= JSON)
		return nl_fail_key(err, text, "%s: the option takes no value", text);
	return nl_fail_key(err, text, "unknown option %s", text);
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

int nl_arguments_parse(struct nl_arguments *out, int role, int argc, char **argv,
		       struct nl_err *err)
{
	int found, window_given = 0, token_given = 0;
	struct nl_run_opts *opts = &out->opts;
	const struct nl_option *table;
	struct spellings spellings;
	size_t rows;

	table = nl_options(&rows);
	list_spellings(&spellings);
	nl_run_opts_init(opts, role);
	out->json = out->help = 0;
	optind = 0; /* scan from the start, whoever scanned before */
	opterr = 0;
	while ((found = getopt_long(argc, argv, "+:", spellings.option, NULL)) != -1) {
		const struct nl_option *option;
		int code;

		if (found == JSON) {
			out->json = 1;
			continue;
		}
		if (found == HELP) {
			out->help = 1;
			return NL_OK;
		}
		if (found < ROW)
			return nl_arguments_fail(found, argv, err);
		option = &table[found - ROW];
		if (option->kind == NL_KIND_TOKEN)
			code = read_token(opts, optarg, err);
		else
			code = nl_run_opts_set(opts, option->name, optarg, err);
		if (code)
			return code;
		window_given |= strcmp(option->name, "window_ms") == 0;
		token_given |= option->kind == NL_KIND_TOKEN;
	}
	if (optind < argc)
		return nl_fail_key(err, argv[optind], "unexpected argument %s", argv[optind]);
	if (opts->bytes && !window_given)
		opts->window_ms = 0;
	if (role == NL_GEN && !token_given)
		return nl_fail_key(err, "token", "--token is missing: the sink prints it");
	return nl_run_opts_check(opts, err);
}

void nl_arguments_help(const char *cmd, int role)
{
	size_t count;
	const struct nl_option *option = nl_options(&count);

	printf("Usage: gensink %s [--json] [--option value ...]\n\n", cmd);
	for (size_t i = 0; i < count; i++)
		if (option[i].roles & (uint32_t)role)
			printf("  --%-19s %s%s%s%s\n", option[i].name, option[i].help,
			       option[i].initial && option[i].initial[0] ? " [" : "",
			       option[i].initial ? option[i].initial : "",
			       option[i].initial && option[i].initial[0] ? "]" : "");
	printf("\nNames may use - for _. --name=value is the same as --name value.\n");
	if (role == NL_SINK)
		printf("Without --token the sink generates one and prints the command for the gen.\n");
}
