/* cli: what the command-line faces share. */
#ifndef NL_CLI_H
#define NL_CLI_H

#include "netlab.h"

#include <signal.h>

/* Say what is wrong on stderr; 2 for bad input, else 1. */
int nl_cli_fail(const char *face, const struct nl_err *err);

/* Block SIGINT, SIGTERM and SIGHUP in this and all later threads; wait for them with
 * sigtimedwait on *set. */
void nl_cli_hold_signals(sigset_t *set);

#endif
