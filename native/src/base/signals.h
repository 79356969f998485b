/* signals: the signals that end a subcommand, for sigtimedwait or a signalfd. */
#ifndef NL_SIGNALS_H
#define NL_SIGNALS_H

#include <signal.h>

/* A thread sends this to the main thread when its work is done. */
enum { NL_SIGNAL_DONE = SIGUSR1 };

/* Block SIGINT, SIGTERM, SIGHUP and NL_SIGNAL_DONE in this and all later threads; *set
 * receives them. */
void nl_signals_block(sigset_t *set);

#endif
