#include "fuzz.h"
#include "run/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nl_request request;
	struct nl_run_opts opts;
	struct nl_err err;

	if (nl_request_parse(&request, (const char *)data, len) != NL_REQUEST_OK)
		return 0;
	if (!request.verb[0] || request.count > NL_PAIRS_MAX)
		abort();
	for (size_t i = 0; i < request.count; i++)
		if (strlen(request.pair[i].value) != request.pair[i].value_len ||
		    nl_request_get(&request, request.pair[i].key) != request.pair[i].value)
			abort();
	for (int role = NL_SINK; role <= NL_GEN; role++)
		if (nl_options_from_request(&opts, role, &request, &err) == NL_OK &&
		    nl_run_opts_check(&opts, &err) != NL_OK)
			abort();
	return 0;
}
