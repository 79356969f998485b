/* lease: which controller a host serves, by a number that only grows.
 *
 * The lock of the agent excludes a second agent; the lease excludes a controller that another has
 * replaced. Its file outlives the agent: `lease-INODE` of the network namespace, `NUMBER CONTROLLER`,
 * in a directory that only its owner can write. */
#ifndef NL_LEASE_H
#define NL_LEASE_H

#include "netlab.h"

enum { NL_CONTROLLER_MAX = 64 };

/* Record the lease. NL_OK, with the number before it in *previous (0: none); NL_IN_USE if the file has
 * a higher number, or the same of another controller; NL_BAD_REQUEST for a name that is empty, too
 * long or has a byte outside 33..126; NL_REFUSED if the file cannot be read or written. The caller has
 * the lock of the agent. */
int nl_lease_take(const char *directory, const char *controller, uint64_t number,
		  uint64_t *previous, struct nl_err *err);

#endif
