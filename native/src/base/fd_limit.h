/* files: the limit on open files of this process. */
#ifndef NL_FD_LIMIT_H
#define NL_FD_LIMIT_H

#include "netlab.h"

/* Raise the limit to as much as this process may have, within reason. */
void nl_fd_limit_raise(void);

/* Make sure of room for so many files beside those that are open: the limit is raised if
 * it has to be, and NL_LIMIT says what is needed if it cannot be. */
int nl_fd_limit_need(uint64_t files, struct nl_err *err);

/* How many more files this process may open when so many, and some spare ones, are reserved. */
uint64_t nl_fd_limit_room(uint64_t reserved);

#endif
