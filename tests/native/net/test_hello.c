#include "check.h"
#include "net/wire.h"

static const struct nl_run_opts run = {.run = 0x0102030405060708, .streams = 4, .token = {9, 8, 7}};
static const struct nl_hello sent = {.stream = 3};

static enum nl_hello_code check(const uint8_t *bytes, uint64_t udp, struct nl_hello *out)
{
	struct nl_run_opts opts = run;

	opts.udp = udp;
	return nl_hello_check(bytes, &opts, out);
}

TEST(the_layout_is_that_of_the_protocol_and_accepted)
{
	uint8_t bytes[NL_HELLO_B];
	struct nl_hello out = {.stream = 99};

	nl_hello_write(bytes, &run, &sent);
	CHECK(memcmp(bytes, "NLHELLO1\0\0\0\3\0\0\0\3\1\2\3\4\5\6\7\10\11\10\7", 27) == 0);
	for (int i = 27; i < NL_HELLO_B; i++)
		CHECK(bytes[i] == 0);
	CHECK(check(bytes, 0, &out) == NL_HELLO_OK && out.stream == 3 && out.port == 0);
}

TEST(any_changed_byte_is_rejected_with_its_code)
{
	uint8_t bytes[NL_HELLO_B];
	struct nl_hello out = {.stream = 99};

	for (int i = 0; i < NL_HELLO_B; i++) {
		enum nl_hello_code want = i < 8	   ? NL_HELLO_MAGIC
					  : i < 12 ? NL_HELLO_VERSION
					  : i < 16 ? NL_HELLO_STREAM
					  : i < 24 ? NL_HELLO_RUN
					  : i < 40 ? NL_HELLO_TOKEN
						   : NL_HELLO_MAGIC;

		nl_hello_write(bytes, &run, &sent);
		bytes[i] ^= 0x40;
		CHECK(check(bytes, 0, &out) == want);
		CHECK(out.stream == 99);
	}
}

TEST(the_probe_over_tcp_is_the_stream_after_the_last_if_it_was_asked_for)
{
	struct nl_hello with = {.stream = 4}, out = {0};
	struct nl_run_opts opts = run;
	uint8_t bytes[NL_HELLO_B];

	opts.latency_probe = 3;
	nl_hello_write(bytes, &run, &with);
	CHECK(nl_hello_check(bytes, &opts, &out) == NL_HELLO_STREAM);
	opts.latency_interval_ms = 10;
	CHECK(nl_hello_check(bytes, &opts, &out) == NL_HELLO_OK && out.stream == 4);
	opts.latency_probe = 1;
	CHECK(nl_hello_check(bytes, &opts, &out) == NL_HELLO_STREAM);
}

TEST(the_control_connection_is_the_second_after_the_last_stream_and_no_more_follow)
{
	struct nl_hello with = {.stream = 5}, out = {0};
	uint8_t bytes[NL_HELLO_B];

	nl_hello_write(bytes, &run, &with);
	CHECK(nl_hello_check(bytes, &run, &out) == NL_HELLO_OK && out.stream == nl_hello_of_control(&run));
	with.stream = 6;
	nl_hello_write(bytes, &run, &with);
	CHECK(nl_hello_check(bytes, &run, &out) == NL_HELLO_STREAM);
}

TEST(each_sender_of_a_sink_has_a_control_connection)
{
	struct nl_hello with = {.stream = 5}, out = {0};
	struct nl_run_opts opts = run;
	uint8_t bytes[NL_HELLO_B];

	memcpy(opts.also_from, "::1,::2", 8);
	for (; with.stream <= 8; with.stream++) {
		nl_hello_write(bytes, &run, &with);
		CHECK(nl_hello_check(bytes, &opts, &out) == (with.stream < 8 ? NL_HELLO_OK : NL_HELLO_STREAM));
	}
	with.stream = 4; /* that of a probe, which was not asked for */
	nl_hello_write(bytes, &run, &with);
	CHECK(nl_hello_check(bytes, &opts, &out) == NL_HELLO_STREAM);
}

TEST(a_udp_run_has_the_port_of_the_datagrams_and_no_other_run_does)
{
	struct nl_hello with = sent, out = {0};
	uint8_t bytes[NL_HELLO_B];

	nl_hello_write(bytes, &run, &with);
	CHECK(check(bytes, 1, &out) == NL_HELLO_MAGIC);
	with.port = 0x1234;
	nl_hello_write(bytes, &run, &with);
	CHECK(bytes[40] == 0x12 && bytes[41] == 0x34);
	CHECK(check(bytes, 0, &out) == NL_HELLO_MAGIC);
	CHECK(check(bytes, 1, &out) == NL_HELLO_OK && out.port == 0x1234);
}
