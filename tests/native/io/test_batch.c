#include "check.h"
#include "io/engine.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

static const struct nl_egress large = {NL_EGRESS_LARGE_B, 1}, jumbo = {9000, 2}, small = {1500, 2},
			      shared = {1500, 1};

TEST(a_cpu_per_stream_needs_no_yield)
{
	const struct nl_egress egress[] = {large, jumbo, small, shared};

	for (int i = 0; i < 4; i++) {
		CHECK(nl_batch_of(1, 1, 2, egress[i]).yield_B == UINT64_MAX);
		CHECK(nl_batch_of(2, 2, 2, egress[i]).yield_B == UINT64_MAX);
		CHECK(nl_batch_of(3, 3, 2, egress[i]).yield_B != UINT64_MAX);
	}
}

TEST(a_batch_is_a_number_of_packets_of_any_length)
{
	CHECK(nl_batch_of(20, 2, 2, jumbo).stream_B == 64 * 9000);
	CHECK(nl_batch_of(20, 2, 2, small).stream_B == 64 * 1500);
	CHECK(nl_batch_of(1000, 2, 2, small).stream_B == 64 * 1500);
}

TEST(a_thread_yields_after_more_than_a_batch)
{
	for (uint64_t streams = 9; streams <= 10000; streams = streams * 3 / 2) {
		CHECK(nl_batch_of(streams, 2, 2, jumbo).yield_B == 4 * MIB);
		CHECK(nl_batch_of(streams, 2, 2, small).yield_B == 4 * MIB);
		CHECK(nl_batch_of(streams, 2, 2, large).yield_B == MIB);
	}
}

TEST(a_batch_of_large_packets_fits_a_cache_and_a_round_of_all_streams_is_bounded)
{
	CHECK(nl_batch_of(20, 2, 2, large).stream_B == MIB);
	for (uint64_t streams = 3; streams <= 65535; streams = streams * 3 / 2 + 1) {
		uint64_t batch_B = nl_batch_of(streams, 2, 2, large).stream_B;

		CHECK(batch_B <= MIB && batch_B * streams <= NL_BATCH_ROUND_B);
		CHECK(batch_B >= 64 * KIB); /* a packet */
	}
	CHECK(nl_batch_of(4, 4, 2, large).yield_B == 2 * MIB);
	CHECK(nl_batch_of(1000, 1000, 2, large).yield_B == 2 * MIB); /* one thread per stream */
}

TEST(small_packets_for_one_queue_have_small_batches)
{
	CHECK(nl_batch_of(4, 4, 2, shared).yield_B == 128 * KIB);
	CHECK(nl_batch_of(20, 2, 2, shared).yield_B == 128 * KIB);
	CHECK(nl_batch_of(1000, 2, 2, shared).stream_B == 128 * KIB);
	/* except for a single sender */
	CHECK(nl_batch_of(20, 1, 2, shared).stream_B == 64 * 1500);
	CHECK(nl_batch_of(20, 2, 1, shared).yield_B == 4 * MIB);
}
