#include "fuzz.h"
#include "net/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t token[NL_TOKEN_B] = "0123456789abcde";
	uint8_t again[NL_HELLO_B];
	struct nl_hello hello = {.run = 7};
	uint32_t stream = 0;

	if (len != NL_HELLO_B || nl_hello_check(data, 7, token, 100, &stream) != NL_HELLO_OK)
		return 0;
	/* an accepted hello equals the one that would be written */
	hello.stream = stream;
	memcpy(hello.token, token, sizeof(token));
	nl_hello_write(again, &hello);
	if (stream >= 100 || memcmp(again, data, len) != 0)
		abort();
	return 0;
}
