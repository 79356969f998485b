/* cli: subcommands of gensink, and functions that their command lines share. */
#ifndef NL_CLI_H
#define NL_CLI_H

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

/* Each subcommand returns the exit code: 0, 1: a run failed, 2: bad input; argv[0] is its name. */
int nl_gen_main(int argc, char **argv);
int nl_sink_main(int argc, char **argv);
int nl_meter_main(int argc, char **argv);
int nl_copyrate_main(int argc, char **argv);

/* GenSink of 2003: name is gen4 or sink4. */
int nl_classic_main(const char *name, int argc, char **argv);

#endif
