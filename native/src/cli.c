#include "cli.h"

#include <pthread.h>
#include <stdio.h>

int nl_cli_fail(const char *face, const struct nl_err *err)
{
	fprintf(stderr, "%s: %s\n", face, err->message);
	return err->code == NL_BAD_REQUEST ? 2 : 1;
}

void nl_cli_hold_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, NL_CLI_DONE);
	pthread_sigmask(SIG_BLOCK, set, NULL);
}
