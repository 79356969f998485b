#include "check.h"
#include "turns.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

static void nobody_waits_for_a_processor_of_his_own(void)
{
	CHECK(nl_turns_of(1, 1, 2, 1).yield_B == UINT64_MAX);
	CHECK(nl_turns_of(2, 2, 2, 1).yield_B == UINT64_MAX);
	CHECK(nl_turns_of(2, 2, 2, 0).yield_B == UINT64_MAX);
	CHECK(nl_turns_of(3, 3, 2, 1).yield_B != UINT64_MAX);
}

static void a_set_hands_over_a_streams_whole_turn(void)
{
	for (uint64_t streams = 9; streams <= 10000; streams = streams * 3 / 2) {
		for (int large = 0; large <= 1; large++) {
			struct nl_turns turns = nl_turns_of(streams, 2, 2, large);

			CHECK(turns.yield_B == turns.stream_B);
		}
	}
}

static void turns_grow_with_the_set(void)
{
	CHECK(nl_turns_of(4, 4, 2, 1).yield_B == 2 * MIB);
	CHECK(nl_turns_of(20, 2, 2, 1).stream_B == 4 * MIB);
	CHECK(nl_turns_of(127, 2, 2, 1).stream_B == 4 * MIB);
	CHECK(nl_turns_of(128, 2, 2, 1).stream_B == 8 * MIB);
	CHECK(nl_turns_of(1000, 1000, 2, 1).yield_B == 2 * MIB); /* a thread each */
}

static void small_packets_are_handed_over_at_once(void)
{
	CHECK(nl_turns_of(4, 4, 2, 0).yield_B == 128 * KIB);
	CHECK(nl_turns_of(20, 2, 2, 0).yield_B == 128 * KIB);
	CHECK(nl_turns_of(1000, 2, 2, 0).stream_B == 128 * KIB);
}

int main(void)
{
	nobody_waits_for_a_processor_of_his_own();
	a_set_hands_over_a_streams_whole_turn();
	turns_grow_with_the_set();
	small_packets_are_handed_over_at_once();
	return 0;
}
