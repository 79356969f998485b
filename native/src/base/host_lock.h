/* host_lock: one process of a kind per network namespace and user.
 *
 * A file named by the kind and the inode of the namespace, under flock, in a directory that only its
 * owner can write: /run/netlab of root, /run/user/UID, else /tmp/netlab-UID. So no other user can
 * take the lock. The kernel releases it with the last process that inherited it; the file names that
 * process for messages. */
#ifndef NL_HOST_LOCK_H
#define NL_HOST_LOCK_H

#include "netlab.h"

struct nl_host_lock {
	int fd;         /* -1: not locked */
	char path[128];
};

/* Take the lock of `kind`. NL_OK; NL_IN_USE, naming the holder's process, user and time; or NL_REFUSED.
 * what: the holder's work, for the message ("another agent serves"). */
int nl_host_lock_take(struct nl_host_lock *lock, const char *kind, const char *what,
		      struct nl_err *err);

/* Add a controller (at most 64 characters) and its lease to the text that names the holder. */
void nl_host_lock_note(const struct nl_host_lock *lock, const char *controller, uint64_t number);

/* Remove the file and release the lock, in this process and in those that inherited it. Does nothing
 * without the lock. */
void nl_host_lock_release(struct nl_host_lock *lock);

#endif
