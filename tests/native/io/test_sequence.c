#include "base/prng.h"
#include "check.h"
#include "io/sequence.h"

#include <stdlib.h>

enum { W = NL_SEQUENCE_WINDOW };

static struct nl_sequence s;

static void take_all(const uint64_t *number, size_t count)
{
	s = (struct nl_sequence){0};
	for (size_t i = 0; i < count; i++)
		nl_sequence_take(&s, number[i]);
}

TEST(each_order_of_arrival_has_its_counts)
{
	static const struct {
		uint64_t number[8], count, sent, received, reordered, duplicates, bursts, burst_max;
	} row[] = {
		{{0, 1, 2, 3}, 4, 4, 4, 0, 0, 0, 0},
		{{0}, 0, 0, 0, 0, 0, 0, 0},
		{{0}, 0, 5, 0, 0, 0, 1, 5},          /* nothing arrived */
		{{1, 2}, 2, 4, 2, 0, 0, 2, 1},       /* the first and the last are lost */
		{{0, 1, 5, 6}, 4, 8, 4, 0, 0, 2, 3}, /* a burst of 3, one of 1 */
		{{0, 2, 1, 3}, 4, 4, 4, 1, 0, 0, 0},
		{{3, 2, 1, 0}, 4, 4, 4, 3, 0, 0, 0},
		{{0, 0, 1, 1, 1}, 5, 2, 2, 0, 3, 0, 0},
		{{0, 4, 4, 1, 1}, 5, 5, 3, 1, 2, 1, 2}, /* 2 and 3 are lost */
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		take_all(row[i].number, row[i].count);
		CHECK(nl_sequence_end(&s, row[i].sent) == 0);
		CHECK(s.count.received == row[i].received && s.count.reordered == row[i].reordered);
		CHECK(s.count.duplicates == row[i].duplicates && s.count.invalid == 0);
		CHECK(s.count.bursts == row[i].bursts && s.count.burst_max == row[i].burst_max);
	}
}

TEST(the_window_bounds_what_may_come_late)
{
	const uint64_t inside[] = {W, 1}, outside[] = {W, 0}, twice[] = {W, 1, 1};

	take_all(inside, 2);
	CHECK(s.count.received == 2 && s.count.reordered == 1 && s.count.invalid == 0);
	take_all(outside, 2);
	CHECK(s.count.received == 1 && s.count.reordered == 0 && s.count.invalid == 1);
	take_all(twice, 3);
	CHECK(s.count.received == 2 && s.count.duplicates == 1);
}

TEST(a_gap_longer_than_the_window_is_one_burst)
{
	const uint64_t far[] = {0, 1, 100 * W, 100 * W + 1};

	take_all(far, 4);
	CHECK(nl_sequence_end(&s, 100 * W + 2) == 0);
	CHECK(s.count.received == 4 && s.count.bursts == 1 && s.count.burst_max == 100 * W - 2);
}

TEST(a_number_beyond_any_gap_or_beyond_what_was_sent_is_not_believed)
{
	const uint64_t jump[] = {0, UINT64_MAX, NL_SEQUENCE_JUMP + 2, 1};

	take_all(jump, 4);
	CHECK(s.count.received == 2 && s.count.invalid == 2 && s.next == 2);
	CHECK(nl_sequence_end(&s, 1) == -1);
	CHECK(nl_sequence_end(&s, 2) == 0 && s.count.bursts == 0);
}

/* Random losses, duplicates and exchanges against a count by hand. */
TEST(the_counts_are_those_of_a_list_of_all_numbers)
{
	enum { SENT = 5 * W };
	static uint8_t arrived[SENT];
	static uint64_t order[2 * SENT];
	struct nl_prng prng;
	uint64_t received = 0, duplicates = 0, count = 0, bursts = 0, burst = 0, burst_max = 0;

	nl_prng_seed(&prng, 3);
	for (uint64_t i = 0; i < SENT; i++)
		for (uint64_t copies = nl_prng_below(&prng, 10); copies < 9 && copies > 6; copies++)
			order[count++] = i; /* 7: two of them, 8: one, else none */
	for (uint64_t i = 0; i + 50 < count; i++) {
		uint64_t other = i + nl_prng_below(&prng, 50), number = order[i];

		order[i] = order[other];
		order[other] = number;
	}
	take_all(order, count);
	for (uint64_t i = 0; i < count; i++)
		arrived[order[i]]++;
	for (uint64_t i = 0; i < SENT; i++) {
		received += arrived[i] > 0;
		duplicates += arrived[i] > 1;
		burst = arrived[i] ? 0 : burst + 1;
		bursts += burst == 1;
		burst_max = burst > burst_max ? burst : burst_max;
	}
	CHECK(nl_sequence_end(&s, SENT) == 0);
	CHECK(s.count.received == received && s.count.duplicates == duplicates && s.count.invalid == 0);
	CHECK(s.count.bursts == bursts && s.count.burst_max == burst_max && received > SENT / 10);
}

TEST(jitter_is_that_of_rfc_3550_and_its_clock_may_wrap)
{
	struct nl_jitter even = {0}, uneven = {0};
	double expected = 0, sum = 0;

	for (uint32_t i = 0; i < 1000; i++) /* 5 ms of transit, sent every 10 ms, both clocks wrap */
		nl_jitter_take(&even, i * 10000000 + 5000000, i * 10000000);
	CHECK(nl_jitter_ns(&even) == 0 && even.count == 999);
	for (uint32_t i = 0; i < 1000; i++) {
		nl_jitter_take(&uneven, 4000000000 + i * 1000 + i % 2 * 160, i * 1000);
		expected += i ? (160 - expected) / 16 : 0;
		sum += expected;
	}
	CHECK(llabs((long long)nl_jitter_ns(&uneven) - (long long)(sum / 999)) <= 1);
	CHECK(nl_jitter_ns(&(struct nl_jitter){0}) == 0);
}

TEST(no_difference_is_taken_across_an_arrival_without_a_time)
{
	struct nl_jitter jitter = {0};

	nl_jitter_take(&jitter, 1000, 0);
	nl_jitter_take(&jitter, 2000, 1000);
	nl_jitter_skip(&jitter);
	nl_jitter_skip(&jitter);
	nl_jitter_take(&jitter, 5000000, 4000); /* the clock was set between the two */
	nl_jitter_take(&jitter, 5001000, 5000);
	CHECK(nl_jitter_ns(&jitter) == 0 && jitter.count == 2);
}
