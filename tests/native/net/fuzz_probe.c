#include "fuzz.h"
#include "net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct nl_run_opts opts = {.run = 7, .token = "0123456789abcde"};
	uint8_t again[NL_PROBE_B];
	struct nl_probe probe;

	if (nl_probe_parse(data, len, &opts, &probe))
		return 0;
	/* an accepted datagram equals the one that would be written */
	nl_probe_write(again, &opts, &probe);
	want(len == NL_PROBE_B && memcmp(again, data, len) == 0);
	return 0;
}
