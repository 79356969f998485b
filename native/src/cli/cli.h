/* cli: subcommands of gensink, and functions that their command lines share. */
#pragma once

#include "base/arguments.h"
#include "base/json.h"

/* Print the error on stderr. Returns the exit code: 2 for bad input, else 1. */
int nl_cli_fail(const char *cmd, const struct nl_err *err);

/* Print the JSON as a line on standard output and free it. NL_OK or an error. */
int nl_cli_print(struct nl_json *j, struct nl_err *err);

enum { NL_CLI_GO_ON = -1 };

/* Parse a command line. Print the help after --help, or the error. NL_CLI_GO_ON, or the exit code. */
int nl_cli_arguments(const struct nl_command_line *line, int argc, char **argv,
		     const char **operand);

/* The command lines of `gensink gen` and `gensink sink`; as base/arguments, for the main thread only. */
struct nl_run_arguments {
	struct nl_run_opts opts;
	int json;
};

/* Parse the options of a role: those of nl_options(), and json. A missing option keeps its default.
 * NL_OK, NL_ARGUMENTS_HELP after the help is printed, or a code with *err filled. */
int nl_run_arguments_parse(struct nl_run_arguments *out, int role, int argc, char **argv,
			   struct nl_err *err);
