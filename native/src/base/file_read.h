/* file_read: a small file as text, for procfs and sysfs. */
#ifndef NL_FILE_READ_H
#define NL_FILE_READ_H

#include <stddef.h>

/* Read a whole file into buf, NUL-terminated. Returns its length, or -1 with errno; EFBIG when it
 * does not fit. */
long nl_file_read(const char *path, char *buf, size_t cap);

#endif
