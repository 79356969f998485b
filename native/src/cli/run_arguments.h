/* run_arguments: command lines of `gensink gen` and `gensink sink`. For the main thread of a process
 * only, as base/arguments. */
#ifndef NL_RUN_ARGUMENTS_H
#define NL_RUN_ARGUMENTS_H

#include "netlab.h"

struct nl_run_arguments {
	struct nl_run_opts opts;
	int json;
};

/* Parse the options of a role: those of nl_options(), and json. A missing option keeps its default.
 * NL_OK, NL_ARGUMENTS_HELP after --help, or a code with *err filled. */
int nl_run_arguments_parse(struct nl_run_arguments *out, int role, int argc, char **argv,
			   struct nl_err *err);

/* Print the options of a role, from the same table. */
void nl_run_arguments_help(const char *cmd, int role);

#endif
