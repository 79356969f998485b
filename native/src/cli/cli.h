/* cli: functions shared by the command lines. */
#ifndef NL_CLI_H
#define NL_CLI_H

#include "base/arguments.h"

/* Print the error on stderr. Returns the exit code: 2 for bad input, else 1. */
int nl_cli_fail(const char *cmd, const struct nl_err *err);

enum { NL_CLI_GO_ON = -1 };

/* Parse a command line. Print the help after --help, or the error. NL_CLI_GO_ON, or the exit code. */
int nl_cli_arguments(const struct nl_command_line *line, int argc, char **argv,
		     const char **operand);

#endif
