#include "base/line_reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void take(struct nl_line_reader *l, nl_line_handler *hear, void *context)
{
	char *start = l->text, *end = l->text + l->have, *newline;
	int enough = 0;

	while (!enough && (newline = memchr(start, '\n', (size_t)(end - start)))) {
		if (!l->overlong)
			enough = hear(context, start, (size_t)(newline - start));
		l->overlong = 0;
		start = newline + 1;
	}
	l->have = (size_t)(end - start);
	memmove(l->text, start, l->have);
	if (l->have > NL_LINE_MAX) {
		if (!l->overlong)
			hear(context, NULL, 0);
		l->overlong = 1;
		l->have = 0;
	}
}

int nl_line_reader_read(struct nl_line_reader *l, int fd, nl_line_handler *hear, void *context)
{
	ssize_t n = read(fd, l->text + l->have, sizeof(l->text) - l->have);

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return 0;
	l->have += (size_t)n;
	take(l, hear, context);
	return 1;
}
