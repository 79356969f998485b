/* private_dir: a directory of this user that no other user can write. */
#ifndef NL_PRIVATE_DIR_H
#define NL_PRIVATE_DIR_H

/* Open it; with `make`, create it. A descriptor that the caller closes, or -1 with errno (EPERM: it
 * belongs to another user, or others can write it). */
int nl_private_dir_open(const char *path, int make);

#endif
