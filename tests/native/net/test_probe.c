#include "check.h"
#include "net/wire.h"

static const struct nl_run_opts opts = {.run = 0x0102030405060708, .token = {9, 8, 7}};
static const struct nl_probe sent = {.kind = NL_PROBE_ANSWER, .sequence = 5, .held_ns = UINT64_MAX};

TEST(the_layout_is_that_of_the_protocol_and_parsed)
{
	uint8_t bytes[NL_PROBE_B];
	struct nl_probe out;

	nl_probe_write(bytes, &opts, &sent);
	CHECK(memcmp(bytes, "NLPROBE1\0\0\0\2\0\0\0\0\1\2\3\4\5\6\7\10\11\10\7", 27) == 0);
	CHECK(nl_probe_parse(bytes, sizeof(bytes), &opts, &out) == 0);
	CHECK(out.kind == sent.kind && out.sequence == 5 && out.held_ns == UINT64_MAX);
}

TEST(another_length_kind_run_or_token_is_refused)
{
	uint8_t bytes[NL_PROBE_B + 1] = {0};
	struct nl_probe out = {.sequence = 99};

	nl_probe_write(bytes, &opts, &sent);
	for (size_t len = 0; len <= NL_PROBE_B + 1; len++)
		CHECK(len == NL_PROBE_B || nl_probe_parse(bytes, len, &opts, &out) == -1);
	for (int i = 0; i < 40; i++) { /* the bytes before the sequence number */
		bytes[i] ^= 0x40;
		CHECK(nl_probe_parse(bytes, NL_PROBE_B, &opts, &out) == -1 && out.sequence == 99);
		bytes[i] ^= 0x40;
	}
}
