#include "check.h"
#include "net/wire.h"

static const uint8_t token[NL_TOKEN_B] = {9, 8, 7, 6, 5};
static const struct nl_datagram sent = {.sequence = 0x0102030405060708, .sent_ns = 0x0a0b0c0d};

TEST(the_layout_is_that_of_the_protocol_and_parsed)
{
	uint8_t bytes[NL_DATAGRAM_B];
	struct nl_datagram out;

	nl_datagram_write(bytes, token, 0x1234, &sent);
	CHECK(memcmp(bytes, "\11\10\7\6\x12\x34\1\2\3\4\5\6\7\10\12\13\14\15", sizeof(bytes)) == 0);
	CHECK(nl_datagram_parse(bytes, sizeof(bytes), token, 0x1234, &out) == 0);
	CHECK(out.sequence == sent.sequence && out.sent_ns == sent.sent_ns);
}

TEST(a_datagram_of_another_run_or_stream_or_cut_short_is_refused)
{
	uint8_t bytes[NL_DATAGRAM_B];
	struct nl_datagram out = {.sequence = 99};

	nl_datagram_write(bytes, token, 3, &sent);
	for (size_t len = 0; len < NL_DATAGRAM_B; len++)
		CHECK(nl_datagram_parse(bytes, len, token, 3, &out) == -1);
	CHECK(nl_datagram_parse(bytes, sizeof(bytes), token, 4, &out) == -1);
	for (int i = 0; i < 6; i++) { /* the bytes before the sequence number */
		bytes[i] ^= 0x40;
		CHECK(nl_datagram_parse(bytes, sizeof(bytes), token, 3, &out) == -1 && out.sequence == 99);
		bytes[i] ^= 0x40;
	}
}
