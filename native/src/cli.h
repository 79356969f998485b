/* cli: what the command-line faces share. */
#ifndef NL_CLI_H
#define NL_CLI_H

#include "netlab.h"

#include <signal.h>

/* Say what is wrong on stderr; 2 for bad input, else 1. */
int nl_cli_fail(const char *face, const struct nl_err *err);

/* What a thread of the program sends to the main thread when its work is done. */
enum { NL_CLI_DONE = SIGUSR1 };

/* Block SIGINT, SIGTERM, SIGHUP and NL_CLI_DONE in this and all later threads; *set is
 * for sigtimedwait or a signalfd. */
void nl_cli_hold_signals(sigset_t *set);

#endif
