/* options: from request words to run options. The table itself is nl_options(). */
#ifndef NL_OPTIONS_H
#define NL_OPTIONS_H

#include "base/request.h"
#include "netlab.h"

/* The row of that name, or NULL. */
const struct nl_option *nl_option_find(const char *name);

/* Fill *opts for role from the words of a request; every word must be an option of
 * the role and every required option must be there. */
int nl_options_from_request(struct nl_run_opts *opts, int role, struct nl_request *request,
			    struct nl_err *err);

/* The same from `--name value` arguments; a required option that is not given keeps its
 * default if it has one. Names may be written with - for _. */
int nl_options_from_argv(struct nl_run_opts *opts, int role, int argc, char *const *argv,
			 struct nl_err *err);

#endif
