/* host_lock: one process of a kind per network namespace, of one user or of all users.
 *
 * A file named by the kind and the inode of the namespace, under flock, in a directory that only its
 * owner can write: /run/netlab of root, /run/user/UID, else /tmp/netlab-UID. So no other user can take
 * or release the lock. The kernel releases it with the last process that inherited it; the file names
 * that process for messages.
 *
 * To exclude other users too, the abstract name "netlab-KIND" of a listening Unix socket besides:
 * unique in the network namespace, visible to all its users, no file that could be a link, and free
 * again with the process. Nobody accepts a connection; the kernel tells whoever connects which process
 * and user listen (SO_PEERCRED). Any local user can take the name without netlab, and so keep others
 * out, as by measuring: not for a lock that a revert needs. */
#pragma once

#include "netlab.h"

struct nl_host_lock {
	int fd;         /* the file; -1: not locked */
	int name_fd;    /* the socket that has the name; -1: none */
	char path[128];
};

struct nl_host_lock_kind {
	const char *name;
	const char *what; /* the holder's work, for messages: "another agent serves" */
	int of_all_users; /* exclude other users too */
};

/* Take the lock. NL_OK; NL_IN_USE, naming the holder's process and user, and its time if that is this
 * user; or NL_REFUSED. */
int nl_host_lock_take(struct nl_host_lock *lock, const struct nl_host_lock_kind *kind,
		      struct nl_err *err);

/* Add a controller (at most 64 characters) and its lease to the text that names the holder. */
void nl_host_lock_note(const struct nl_host_lock *lock, const char *controller, uint64_t number);

/* Remove the file and release the lock, in this process and in those that inherited it; the name is
 * free once they have ended. Does nothing without the lock. */
void nl_host_lock_release(struct nl_host_lock *lock);
