#include "base/dispatch.h"

#include <string.h>

int nl_dispatch(const struct nl_verb *verbs, size_t count, void *context, const char *line,
		size_t len, struct nl_request *request, struct nl_err *err)
{
	enum nl_request_code parsed = NL_REQUEST_TOO_LONG;

	request->bad_key[0] = '\0';
	if (line)
		parsed = nl_request_parse(request, line, len);
	if (parsed != NL_REQUEST_OK) {
		request->count = 0;
		return nl_fail_key(err, request->bad_key, "%s", nl_request_message(parsed));
	}
	for (size_t i = 0; i < count; i++)
		if (strcmp(verbs[i].name, request->verb) == 0)
			return verbs[i].handle(context, request, err);
	return nl_fail(err, NL_BAD_REQUEST, "unknown request %s", request->verb);
}

int nl_request_only_known(const struct nl_request *request, struct nl_err *err)
{
	const char *key = nl_request_unread(request);

	return key ? nl_fail_key(err, key, "%s: unknown key %s", request->verb, key) : NL_OK;
}
