#include "base/line_reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void split(struct nl_line_reader *r, nl_line_handler *handle, void *context)
{
	char *start = r->text, *end = r->text + r->have, *newline;
	int stop = 0;

	while (!stop && (newline = memchr(start, '\n', (size_t)(end - start)))) {
		if (!r->overlong)
			stop = handle(context, start, (size_t)(newline - start));
		r->overlong = 0;
		start = newline + 1;
	}
	r->have = (size_t)(end - start);
	memmove(r->text, start, r->have);
	if (r->have > NL_LINE_MAX) {
		if (!r->overlong)
			handle(context, NULL, 0);
		r->overlong = 1;
		r->have = 0;
	}
}

int nl_line_reader_read(struct nl_line_reader *reader, int fd, nl_line_handler *handle,
			void *context)
{
	ssize_t n = read(fd, reader->text + reader->have, sizeof(reader->text) - reader->have);

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return 0;
	reader->have += (size_t)n;
	split(reader, handle, context);
	return 1;
}
