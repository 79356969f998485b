/* options: run options from requests. The table is nl_options(). */
#ifndef NL_OPTIONS_H
#define NL_OPTIONS_H

#include "base/request.h"
#include "netlab.h"

/* The option of that name, or NULL. */
const struct nl_option *nl_option_find(const char *name);

/* Fill *opts for role from a request: every key must be an option of the role, and every required
 * option present. */
int nl_options_from_request(struct nl_run_opts *opts, int role, struct nl_request *request,
			    struct nl_err *err);

#endif
