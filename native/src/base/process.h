/* process: limits, signals and privileges of this process. */
#pragma once

#include "netlab.h"

#include <signal.h>

/* Raise the soft limit as far as this process may, within reason. */
void nl_fd_limit_raise(void);

/* Ensure room for this many more open files; raises the limit if necessary. NL_LIMIT, with the number
 * needed, if that fails. */
int nl_fd_limit_need(uint64_t files, struct nl_err *err);

/* Number of files this process may still open beside the reserved ones and a few spare ones. */
uint64_t nl_fd_limit_room(uint64_t reserved);

/* A thread sends this to the main thread when its work is done. */
enum { NL_SIGNAL_DONE = SIGUSR1 };

/* Block SIGINT, SIGTERM, SIGHUP and NL_SIGNAL_DONE in this and all later threads; *set
 * receives them. */
void nl_signals_block(sigset_t *set);

/* The same, and a non-blocking descriptor that is readable after one of them. -1 with errno. */
int nl_signals_open(void);

/* True if this process is in the user namespace of the machine's start, also if the kernel has no
 * others. In any other one a capability does not reach what the kernel reserves for root of the
 * whole machine. */
int nl_in_first_user_namespace(void);
