/* line_reader: request lines from a descriptor, each at most NL_LINE_MAX bytes. */
#ifndef NL_LINE_READER_H
#define NL_LINE_READER_H

#include "base/request.h"

struct nl_line_reader {
	char text[NL_LINE_MAX + 2];
	size_t have;
	int overlong; /* skipping the rest of an overlong line */
};

/* Handle a line, without its newline; line is NULL for an overlong one, which is skipped. Nonzero
 * stops the reading of this call. */
typedef int nl_line_handler(void *context, const char *line, size_t len);

/* Read once and handle every whole line. 1 while there may be more, 0 at the end of input. */
int nl_line_reader_read(struct nl_line_reader *reader, int fd, nl_line_handler *handle,
			void *context);

#endif
