/* file_read: whole reads and writes; a small file as text, for procfs and sysfs. */
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

#endif
