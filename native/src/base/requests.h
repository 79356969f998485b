/* requests: a line becomes the call that its verb names, or an error. */
#ifndef NL_REQUESTS_H
#define NL_REQUESTS_H

#include "base/error.h"
#include "base/words.h"

struct nl_request {
	const char *verb;
	/* 0, or the error's code with *err written */
	int (*handle)(void *context, struct nl_words *words, struct nl_err *err);
};

/* Parse a line (NULL: one was too long) and call what its verb names among count requests. 0, or
 * the error's code with *err written. *words holds the line after; no word if it was unreadable. */
int nl_requests_take(const struct nl_request *request, size_t count, void *context,
		     const char *line, size_t len, struct nl_words *words, struct nl_err *err);

/* 0 if every key was asked for, else the error's code. */
int nl_requests_only_known(const struct nl_words *words, struct nl_err *err);

#endif
