/* private_dir: a directory of this user that no other user can write. */
#ifndef NL_PRIVATE_DIR_H
#define NL_PRIVATE_DIR_H

/* Open it; with `make`, create it. A descriptor that the caller closes, or -1 with errno (EPERM: it
 * belongs to another user, or others can write it). */
int nl_private_dir_open(const char *path, int make);

/* Open the directory for files of this host that end with the boot: /run/netlab of root, else the
 * user's runtime directory /run/user/UID, else /tmp/netlab-UID; path receives its name. As above;
 * without `make` ENOENT if it is absent. */
int nl_run_dir_open(char path[64], int make);

/* The reason of a failure, for a message. */
const char *nl_private_dir_error(int errnum);

#endif
