#include "run/options.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nl_words words;
	struct nl_run_opts opts;
	struct nl_err err;

	if (nl_words_parse(&words, (const char *)data, len) != NL_WORDS_OK)
		return 0;
	if (!words.verb[0] || words.count > NL_WORDS_MAX)
		abort();
	for (size_t i = 0; i < words.count; i++)
		if (strlen(words.word[i].value) != words.word[i].value_len ||
		    nl_words_get(&words, words.word[i].key) != words.word[i].value)
			abort();
	for (int role = NL_SINK; role <= NL_GEN; role++)
		if (nl_options_from_words(&opts, role, &words, &err) == NL_OK &&
		    nl_run_opts_check(&opts, &err) != NL_OK)
			abort();
	return 0;
}
