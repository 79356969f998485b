#include "base/requests.h"

#include <string.h>

int nl_requests_take(const struct nl_request *request, size_t count, void *context,
		     const char *line, size_t len, struct nl_words *words, struct nl_err *err)
{
	enum nl_words_code parsed = NL_WORDS_TOO_LONG;

	words->bad_key[0] = '\0';
	if (line)
		parsed = nl_words_parse(words, line, len);
	if (parsed != NL_WORDS_OK) {
		words->count = 0;
		return nl_fail_key(err, words->bad_key, "%s", nl_words_message(parsed));
	}
	for (size_t i = 0; i < count; i++)
		if (strcmp(request[i].verb, words->verb) == 0)
			return request[i].handle(context, words, err);
	return nl_fail(err, NL_BAD_REQUEST, "there is no request %s", words->verb);
}

int nl_requests_only_known(const struct nl_words *words, struct nl_err *err)
{
	const char *key = nl_words_untaken(words);

	return key ? nl_fail_key(err, key, "%s has no key %s", words->verb, key) : NL_OK;
}
