/* `load` requests of gensink cc: parsed parameters are always within their bounds. */
#include "congestion/cc_table.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nl_cc_params params;
	struct nl_request request;
	struct nl_err err;
	int cc;

	if (nl_request_parse(&request, (const char *)data, len) != NL_REQUEST_OK)
		return 0;
	memset(&err, 0, sizeof(err));
	cc = nl_cc_from_request(&request, &params, &err);
	if (cc < 0) {
		if (err.code != NL_BAD_REQUEST || !err.message[0])
			abort();
		return 0;
	}
	if (cc >= NL_CC_COUNT || nl_request_unread(&request))
		abort();
	for (size_t i = 0; i < nl_cc_table[cc].options; i++) {
		const struct nl_cc_option *o = &nl_cc_table[cc].option[i];
		uint32_t value = nl_cc_option_value(&params, o);

		if (value < o->min || value > o->max)
			abort();
	}
	return 0;
}
