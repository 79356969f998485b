/* cli: functions shared by the command lines. */
#ifndef NL_CLI_H
#define NL_CLI_H

#include "netlab.h"

/* Print the error on stderr. Returns the exit code: 2 for bad input, else 1. */
int nl_cli_fail(const char *cmd, const struct nl_err *err);

#endif
