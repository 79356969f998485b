/* lease: the controller that a host serves, by a number that only grows.
 *
 * The lock of the agent excludes a second agent; the lease excludes a controller that another has
 * replaced, whichever user the two measure as. Its file outlives the agent: `lease-INODE` of the
 * network namespace, `NUMBER CONTROLLER`. Each user writes it twice, in a directory of its own
 * (`directory` below), and in `netlab-leases-UID` of a directory that users share, where all can read
 * it. The highest number counts. A file counts if it belongs to the user that its directory is named
 * by, neither is a link, and nobody else can write them: a user can raise the number, as by a lease,
 * and never lower that of another. */
#ifndef NL_LEASE_H
#define NL_LEASE_H

#include "netlab.h"

enum { NL_CONTROLLER_MAX = 64 };

struct nl_lease_request {
	const char *directory;  /* of the user, private */
	const char *shared;     /* NULL: the first of /var/tmp and /tmp that is fit */
	const char *controller;
	uint64_t number;
};

/* Record the lease. NL_OK, with the highest number before it in *previous (0: none); NL_IN_USE if that
 * is higher, or the same of another controller; NL_BAD_REQUEST for a name that is empty, too long or
 * has a byte outside 33..126; NL_REFUSED if a file cannot be read or written, or the shared directory
 * does not belong to root or this user, or has no sticky bit though others can write it. The caller
 * has the lock of the agent, of which there is one in the network namespace. */
int nl_lease_take(const struct nl_lease_request *request, uint64_t *previous, struct nl_err *err);

#endif
