/* file_read: whole reads and writes; a small file as text, for procfs and sysfs, or replaced as a whole. */
#ifndef NL_FILE_READ_H
#define NL_FILE_READ_H

#include <stddef.h>

/* Read a whole file into buf, NUL-terminated. Returns its length, or -1 with errno; EFBIG when it
 * does not fit. */
long nl_file_read(const char *path, char *buf, size_t cap);

/* Read up to len bytes, fewer at the end only. The number, or -1 with errno. */
long nl_read_all(int fd, char *to, size_t len);

/* Write all bytes. 0, or -1 with errno. */
int nl_write_all(int fd, const char *from, size_t len);

/* Write NAME.new in a directory and rename it, so that a crash leaves the old file or the new one; with
 * `sync` that of the machine too. 0, or -1 with errno and the old file. */
int nl_file_replace(int dir, const char *name, const char *text, size_t len, int sync);

#endif
