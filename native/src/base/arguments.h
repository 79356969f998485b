/* arguments: the command line of a subcommand, parsed by getopt_long from a table of its options.
 *
 * `--name value` and `--name=value`, with - or _ in a name; a unique start of a name is enough.
 * Every subcommand has --help. For the main thread of a process only: getopt keeps its state in
 * globals. */
#pragma once

#include "netlab.h"

#include <stdio.h>

enum { NL_ARGUMENTS_MAX = 64 }; /* options of a subcommand */

/* One option. Exactly one of count, text and given receives it; a repeated option replaces itself. */
struct nl_argument {
	const char *name;    /* as messages print it; shorter than NL_NAME_MAX */
	const char *value;   /* the value in the help, as N; NULL: printed without one */
	const char *initial; /* the default as the help prints it; NULL: none */
	const char *help;
	uint64_t min, max;  /* of *count */
	uint64_t *count;    /* a decimal number; *initial if the option is missing, or 0 */
	const char **text;  /* in argv; NULL if the option is missing */
	int *given;         /* 1 or 0; the option takes no value */
	int required;       /* it is an error if the option is missing */
};

struct nl_command_line {
	const char *cmd;     /* the name of the subcommand */
	const char *operand; /* the name of its one operand, which is required; NULL: none */
	const char *about;   /* the text of the help before the options */
	const struct nl_argument *row;
	size_t rows;
	const char *more; /* the text of the help after the options, or NULL */
};

enum { NL_ARGUMENTS_HELP = -1 };

/* Parse argv[1..]; the order of argv may change. NL_OK, NL_ARGUMENTS_HELP after --help, or
 * NL_BAD_REQUEST with *err naming the option and what is allowed. *operand: in argv; may be NULL if
 * the subcommand takes none. */
int nl_arguments_parse(const struct nl_command_line *line, int argc, char **argv,
		       const char **operand, struct nl_err *err);

/* Print usage and options. */
void nl_arguments_help(const struct nl_command_line *line, FILE *to);
