#include "base/clock.h"
#include "check.h"
#include "io/udp_nap.h"

enum { BUFFER_B = 1 << 20 };

static struct nl_udp_nap nap_after(int joined, uint64_t pause_ns, int something, int much)
{
	struct nl_udp_nap nap;

	nl_udp_nap_begin(&nap, BUFFER_B, joined);
	nl_udp_nap_turn(&nap, NL_NS_PER_S, 1, 0);
	nl_udp_nap_turn(&nap, NL_NS_PER_S + pause_ns, something, much);
	return nap;
}

TEST(a_sink_sleeps_after_a_turn_with_something_and_not_much)
{
	CHECK(nap_after(0, NL_NS_PER_MS, 1, 0).due);
	CHECK(!nap_after(0, NL_NS_PER_MS, 0, 0).due);
	CHECK(!nap_after(0, NL_NS_PER_MS, 1, 1).due);
}

TEST(joined_messages_count_while_they_are_dense)
{
	CHECK(nap_after(1, 100 * 1000, 1, 0).due);
	CHECK(!nap_after(1, NL_NS_PER_MS, 1, 0).due);
	CHECK(nap_after(1, NL_NS_PER_MS, 0, 0).turn_ns == NL_NS_PER_S);
}

TEST(a_sleep_fills_an_eighth_of_the_buffer_at_one_GB_a_second)
{
	struct nl_udp_nap nap;

	for (uint64_t rcvbuf_B = 0; rcvbuf_B <= UINT64_C(8) << 20; rcvbuf_B += 4096) {
		uint64_t part_B = rcvbuf_B / 8;

		nl_udp_nap_begin(&nap, rcvbuf_B, 0);
		CHECK(nap.much_B == part_B && !nap.due);
		CHECK(nap.sleep_ns == part_B || (nap.sleep_ns == 50 * 1000 && part_B < 50 * 1000) ||
		      (nap.sleep_ns == 400 * 1000 && part_B > 400 * 1000));
	}
	CHECK(nl_udp_buffered_B(1000) > 2000);
}
