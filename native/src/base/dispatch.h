/* dispatch: parse a request line and call the handler of its verb. */
#ifndef NL_DISPATCH_H
#define NL_DISPATCH_H

#include "base/error.h"
#include "base/request.h"

struct nl_verb {
	const char *name;
	/* NL_OK, or an error code with *err filled. */
	int (*handle)(void *context, struct nl_request *request, struct nl_err *err);
};

/* Parse a line (NULL: an overlong one) and call the handler among count verbs. NL_OK, or an
 * error code with *err filled. *request receives the parsed line; no pairs if it was malformed. */
int nl_dispatch(const struct nl_verb *verbs, size_t count, void *context, const char *line,
		size_t len, struct nl_request *request, struct nl_err *err);

/* NL_OK if every key has been read by a getter, else an error naming the unknown key. */
int nl_request_only_known(const struct nl_request *request, struct nl_err *err);

#endif
