/* fd_limit: the limit on open files of this process. */
#ifndef NL_FD_LIMIT_H
#define NL_FD_LIMIT_H

#include "netlab.h"

/* Raise the soft limit as far as this process may, within reason. */
void nl_fd_limit_raise(void);

/* Ensure room for so many more open files; raises the limit if necessary. NL_LIMIT, with the number
 * needed, if that fails. */
int nl_fd_limit_need(uint64_t files, struct nl_err *err);

/* How many more files this process may open when so many, and some spare ones, are reserved. */
uint64_t nl_fd_limit_room(uint64_t reserved);

#endif
