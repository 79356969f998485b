/* fd_limit: the limit on open files of this process. */
#ifndef NL_FD_LIMIT_H
#define NL_FD_LIMIT_H

#include "netlab.h"

/* Raise the soft limit as far as this process may, within reason. */
void nl_fd_limit_raise(void);

/* Ensure room for this many more open files; raises the limit if necessary. NL_LIMIT, with the number
 * needed, if that fails. */
int nl_fd_limit_need(uint64_t files, struct nl_err *err);

/* Number of files this process may still open beside the reserved ones and a few spare ones. */
uint64_t nl_fd_limit_room(uint64_t reserved);

#endif
