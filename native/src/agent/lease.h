/* lease: the controller of a user that a host serves, by a number that only grows.
 *
 * The lock of the agent excludes a second agent, whichever user starts it. The lease excludes a
 * controller that another one of the same user has replaced. Its file outlives the agent, and counts
 * until the machine starts again: `lease-INODE` of the network namespace, `NUMBER CONTROLLER BOOT`, in a
 * directory that only the user can write. What other users write is not read: another user's controller
 * excludes this one only while its agent has the lock. */
#pragma once

#include "netlab.h"

enum { NL_CONTROLLER_MAX = 64 };

struct nl_lease_request {
	const char *directory;  /* of the user, private */
	const char *controller;
	uint64_t number;
};

/* Record the lease. NL_OK, with the number before it in *previous (0: none); NL_IN_USE if that is higher,
 * or the same of another controller; NL_BAD_REQUEST for a name that is empty, too long or has a byte
 * outside 33..126; NL_REFUSED if the file cannot be read or written. The caller has the lock of the
 * agent, of which there is one in the network namespace. */
int nl_lease_take(const struct nl_lease_request *request, uint64_t *previous, struct nl_err *err);
