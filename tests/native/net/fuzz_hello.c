#include "fuzz.h"
#include "net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nl_run_opts opts = {.run = 7, .streams = 100, .token = "0123456789abcde"};
	uint8_t again[NL_HELLO_B];
	struct nl_hello hello;

	if (len != NL_HELLO_B)
		return 0;
	opts.udp = data[40] || data[41];
	if (nl_hello_check(data, &opts, &hello) != NL_HELLO_OK)
		return 0;
	/* an accepted hello equals the one that would be written */
	nl_hello_write(again, &opts, &hello);
	want((hello.stream < 100 || hello.stream == 101) && memcmp(again, data, len) == 0);
	return 0;
}
