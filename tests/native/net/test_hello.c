#include "check.h"
#include "net/hello.h"

static const struct nl_hello sent = {.run = 0x0102030405060708, .stream = 3, .token = {9, 8, 7}};

static enum nl_hello_code check(const uint8_t *bytes, uint32_t *stream)
{
	return nl_hello_check(bytes, sent.run, sent.token, 4, stream);
}

TEST(the_layout_is_that_of_the_protocol_and_accepted)
{
	uint8_t bytes[NL_HELLO_B];
	uint32_t stream = 99;

	nl_hello_write(bytes, &sent);
	CHECK(memcmp(bytes, "NLHELLO1\0\0\0\2\0\0\0\3\1\2\3\4\5\6\7\10\11\10\7", 27) == 0);
	for (int i = 27; i < NL_HELLO_B; i++)
		CHECK(bytes[i] == 0);
	CHECK(check(bytes, &stream) == NL_HELLO_OK && stream == 3);
}

TEST(any_changed_byte_is_rejected_with_its_code)
{
	uint8_t bytes[NL_HELLO_B];
	uint32_t stream = 99;

	for (int i = 0; i < NL_HELLO_B; i++) {
		enum nl_hello_code want = i < 8	   ? NL_HELLO_MAGIC
					  : i < 12 ? NL_HELLO_VERSION
					  : i < 16 ? NL_HELLO_STREAM
					  : i < 24 ? NL_HELLO_RUN
					  : i < 40 ? NL_HELLO_TOKEN
						   : NL_HELLO_MAGIC;

		nl_hello_write(bytes, &sent);
		bytes[i] ^= 0x40;
		CHECK(check(bytes, &stream) == want);
		CHECK(stream == 99);
	}
}
