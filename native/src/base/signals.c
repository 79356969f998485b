#include "base/signals.h"

#include <pthread.h>

void nl_signals_block(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, NL_SIGNAL_DONE);
	pthread_sigmask(SIG_BLOCK, set, NULL);
}
