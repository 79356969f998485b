/* arguments: command lines of gensink, parsed by getopt_long. For the command line only: getopt
 * keeps its state in globals. */
#ifndef NL_ARGUMENTS_H
#define NL_ARGUMENTS_H

#include "netlab.h"

struct nl_arguments {
	struct nl_run_opts opts;
	int json;
	int help; /* set: print help; opts are not checked */
};

/* Parse `--name value` and `--name=value` of a role. Names are those of nl_options(), with _ or -,
 * and json and help; a unique start of a name is enough. A missing option keeps its default. */
int nl_arguments_parse(struct nl_arguments *out, int role, int argc, char **argv,
		       struct nl_err *err);

/* Print the options of a role, from the same table. */
void nl_arguments_help(const char *cmd, int role);

/* Fill err for a '?' or ':' that getopt_long returned just now. */
int nl_arguments_fail(int found, char *const *argv, struct nl_err *err);

#endif
