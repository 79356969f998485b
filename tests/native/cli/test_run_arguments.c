#include "argv.h"
#include "base/arguments.h"
#include "check.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GEN "--to", "127.0.0.1", "--port=5"
#define TOKEN "--token", token_file
#define TOKEN_TEXT "00112233445566778899aabbccddeeff"

static struct nl_run_arguments arguments;
static struct nl_err err;
static char token_file[32];

/* Parse arguments that end with NULL. */
static int parse(int role, const char *const *words)
{
	static struct argv argv;
	int argc = fill_argv(&argv, words);

	return nl_run_arguments_parse(&arguments, role, argc, argv.at, &err);
}

#define PARSE(role, ...) parse(role, (const char *const[]){__VA_ARGS__, NULL})

/* A file with a token: none is taken from the command line. */
static void write_token(void)
{
	int fd;

	snprintf(token_file, sizeof(token_file), "/tmp/token-XXXXXX");
	fd = mkstemp(token_file);
	CHECK(fd >= 0 && write(fd, TOKEN_TEXT "\n", sizeof(TOKEN_TEXT)) == (ssize_t)sizeof(TOKEN_TEXT));
	close(fd);
}

static void remove_token(void)
{
	unlink(token_file);
}

#define WITH_TOKEN(function) TEST_WITH(function, write_token, remove_token)

WITH_TOKEN(options_are_set_in_either_spelling)
{
	CHECK(PARSE(NL_GEN, GEN, TOKEN, "--record_B", "10", "--json") == NL_OK);
	CHECK(arguments.opts.record_B == 10 && arguments.opts.port == 5 && arguments.json);
	CHECK(PARSE(NL_GEN, GEN, TOKEN, "--record-B=11") == NL_OK);
	CHECK(arguments.opts.record_B == 11 && !arguments.json);
	CHECK(PARSE(NL_GEN, GEN, TOKEN, "--follow-incoming-cpu", "1") == NL_OK);
	CHECK(arguments.opts.follow_incoming_cpu == 1);
}

WITH_TOKEN(bytes_replace_the_window)
{
	CHECK(PARSE(NL_GEN, GEN, TOKEN, "--bytes=7") == NL_OK && arguments.opts.window_ms == 0);
	CHECK(PARSE(NL_GEN, GEN, TOKEN, "--bytes=7", "--window_ms=7") == NL_BAD_REQUEST);
}

WITH_TOKEN(mistakes_are_refused_by_name)
{
	CHECK(PARSE(NL_GEN, GEN) == NL_BAD_REQUEST && strcmp(err.key, "token") == 0);
	CHECK(PARSE(NL_GEN, GEN, "--token", TOKEN_TEXT) == NL_BAD_REQUEST);
	CHECK(PARSE(NL_GEN, GEN, "--token=/nowhere/token") == NL_BAD_REQUEST);
	CHECK(PARSE(NL_GEN, TOKEN, "--port") == NL_BAD_REQUEST && strcmp(err.key, "--port") == 0);
	CHECK(PARSE(NL_GEN, GEN, TOKEN, "--colour=red") == NL_BAD_REQUEST);
	CHECK(PARSE(NL_GEN, GEN, TOKEN, "5") == NL_BAD_REQUEST && strcmp(err.key, "5") == 0);
}

TEST(an_option_of_the_other_role_is_not_taken_for_a_short_name)
{
	CHECK(PARSE(NL_SINK, "--to=127.0.0.1") == NL_BAD_REQUEST && strcmp(err.key, "to") == 0);
}

TEST(help_needs_no_other_option)
{
	CHECK(PARSE(NL_GEN, "--help") == NL_ARGUMENTS_HELP);
}
