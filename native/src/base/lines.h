/* lines: requests from a descriptor, cut at their newlines, each at most NL_LINE_MAX. */
#ifndef NL_LINES_H
#define NL_LINES_H

#include "base/words.h"

struct nl_lines {
	char text[NL_LINE_MAX + 2];
	size_t have;
	int overlong; /* skipping to the end of a line that is too long */
};

/* Hear of a line, without its newline; line NULL: one was too long, it is skipped. What
 * is not 0 ends the reading of this call. */
typedef int nl_lines_hear(void *context, const char *line, size_t len);

/* Read once and hand on what is whole. 1 while there may be more, 0 at the end of input. */
int nl_lines_read(struct nl_lines *lines, int fd, nl_lines_hear *hear, void *context);

#endif
