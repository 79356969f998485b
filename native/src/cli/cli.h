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
