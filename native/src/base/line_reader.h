/* lines: requests from a descriptor, cut at their newlines, each at most NL_LINE_MAX. */
#ifndef NL_LINE_READER_H
#define NL_LINE_READER_H

#include "base/request.h"

struct nl_line_reader {
	char text[NL_LINE_MAX + 2];
	size_t have;
	int overlong; /* skipping to the end of a line that is too long */
};

/* Hear of a line, without its newline; line NULL: one was too long, it is skipped. What
 * is not 0 ends the reading of this call. */
typedef int nl_line_handler(void *context, const char *line, size_t len);

/* Read once and hand on what is whole. 1 while there may be more, 0 at the end of input. */
int nl_line_reader_read(struct nl_line_reader *reader, int fd, nl_line_handler *hear, void *context);

#endif
