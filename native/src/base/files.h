/* files: whole reads and writes; a small file as text, for procfs and sysfs, or replaced as a whole. */
#pragma once

#include <stddef.h>

/* Read a whole file into buf, NUL-terminated. Returns its length, or -1 with errno; EFBIG when it
 * does not fit. */
long nl_file_read(const char *path, char *buf, size_t cap);

/* Read up to len bytes, fewer at the end only. The number, or -1 with errno. */
long nl_read_all(int fd, char *to, size_t len);

/* Close a descriptor, unless it is negative, and set it to -1. errno stays. */
void nl_close(int *fd);

/* Write all bytes. 0, or -1 with errno. */
int nl_write_all(int fd, const char *from, size_t len);

/* Write NAME.new in a directory and rename it, so that a crash leaves the old file or the new one; with
 * `sync` that of the machine too. 0, or -1 with errno and the old file. */
int nl_file_replace(int dir, const char *name, const char *text, size_t len, int sync);

/* A directory of this user that no other user can write. */
/* Open it; with `make`, create it. A descriptor that the caller closes, or -1 with errno (EPERM: it
 * belongs to another user, or others can write it). */
int nl_private_dir_open(const char *path, int make);

/* Open the directory for files of this host that end with the boot: /run/netlab of root, else the
 * user's runtime directory /run/user/UID, else /tmp/netlab-UID; path receives its name. As above;
 * without `make` ENOENT if it is absent. */
int nl_run_dir_open(char path[64], int make);

/* The kernel's name of this boot; empty where it has none. */
enum { NL_BOOT_MAX = 48 };
void nl_boot_id(char to[NL_BOOT_MAX]);

/* The reason of a failure, for a message. */
const char *nl_private_dir_error(int errnum);
