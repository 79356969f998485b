/* files: the limit on open files of this process. */
#ifndef NL_FILES_H
#define NL_FILES_H

#include "netlab.h"

/* Raise the limit to as much as this process may have, within reason. */
void nl_files_raise(void);

/* Make sure of room for so many files beside those that are open: the limit is raised if
 * it has to be, and NL_LIMIT says what is needed if it cannot be. */
int nl_files_need(uint64_t files, struct nl_err *err);

#endif
