#include "check.h"
#include "emulator/cobalt.h"

#define MS UINT64_C(1000000)

static const struct nl_cobalt_times times = {.target_ns = 5 * MS, .interval_ns = 100 * MS, .packet_ns = MS};
static const double root[] = {1, 1.41421, 1.73205, 2, 2.23607, 2.44949, 2.64575, 2.82843, 3};
static struct nl_cobalt cobalt;
static struct nl_prng prng;
static uint64_t now_ns;

static void begun(void)
{
	cobalt = (struct nl_cobalt){0};
	nl_prng_seed(&prng, 7);
	now_ns = MS;
}

/* A packet that waited so long leaves now. 1: dropped, 2: marked. */
static int leaves(uint64_t waited_ns, int takes_marks)
{
	struct nl_aqm_packet packet = {.arrived_ns = now_ns - waited_ns, .takes_marks = (uint8_t)takes_marks};

	if (nl_cobalt_drops(&cobalt, &times, now_ns, 1, &packet, &prng))
		return 1;
	return packet.marked ? 2 : 0;
}

static int near(uint64_t value, uint64_t expected, uint64_t within)
{
	return value + within >= expected && value <= expected + within;
}

TEST(signals_come_an_interval_after_the_target_then_at_the_roots_from_two_on)
{
	for (int takes_marks = 0; takes_marks < 2; takes_marks++) {
		uint64_t signal_ns[9], above_ns, expected;
		int signals = 0;

		begun();
		for (; now_ns < 50 * MS; now_ns += MS)
			CHECK(leaves(0, takes_marks) == 0);
		above_ns = now_ns;
		for (; signals < 9; now_ns += MS) {
			int signal = leaves(now_ns < 20 * MS ? 0 : 10 * MS, takes_marks);

			CHECK(signal == 0 || signal == 1 + takes_marks);
			if (signal)
				signal_ns[signals++] = now_ns;
		}
		expected = above_ns + 100 * MS;
		for (int i = 0; i < 9; i++) {
			CHECK(near(signal_ns[i], expected, MS));
			/* a signal counts from when it was made, so one that was late moves those after it */
			expected = signal_ns[i] + (i < 8 ? (uint64_t)(100e6 / root[i + 1]) : 0);
		}
	}
}

TEST(a_queue_of_less_than_four_packets_is_none)
{
	const struct nl_cobalt_times slow = {.target_ns = 15 * MS, .interval_ns = 110 * MS, .packet_ns = 10 * MS};
	int signals = 0;

	begun();
	for (int i = 0; i < 1000; i++, now_ns += 10 * MS) {
		/* 30 ms, and 50 ms later on */
		struct nl_aqm_packet packet = {.arrived_ns = now_ns - (i && now_ns >= 60 * MS ? i < 500 ? 30 : 50 : 0) * MS};
		int signal = nl_cobalt_drops(&cobalt, &slow, now_ns, 1, &packet, &prng);

		CHECK(i >= 500 || !signal);
		signals += signal;
	}
	CHECK(signals > 20);
}

TEST(signals_are_counted_down_and_not_forgotten_below_the_target)
{
	uint32_t most, before;
	uint64_t last_ns;

	begun();
	for (int i = 0; i < 2000; i++, now_ns += MS)
		leaves(now_ns < 20 * MS ? 0 : 10 * MS, 0);
	most = before = cobalt.count;
	CHECK(most > 50);
	last_ns = now_ns;
	for (; cobalt.count; now_ns += MS / 4) {
		CHECK(leaves(0, 0) == 0);
		CHECK(cobalt.count == before || cobalt.count == before - 1);
		/* the fewer are left, the longer each takes: none of the last four leaves within 45 ms */
		if (cobalt.count != before) {
			CHECK(cobalt.count >= 4 || now_ns - last_ns > 45 * MS);
			last_ns = now_ns;
		}
		before = cobalt.count;
	}
	/* another excess begins where the law was: not after an interval */
	begun();
	for (int i = 0; i < 2000; i++, now_ns += MS)
		leaves(now_ns < 20 * MS ? 0 : 10 * MS, 0);
	for (int i = 0; i < 30; i++, now_ns += MS)
		leaves(0, 0);
	last_ns = now_ns;
	for (; !leaves(10 * MS, 0); now_ns += MS)
		CHECK(now_ns - last_ns < 30 * MS);
}

TEST(blue_grows_with_overflows_once_in_a_target_and_shrinks_with_empty_queues)
{
	uint32_t dropped = 0;

	begun();
	now_ns = 1000 * MS;
	for (int i = 0; i < 40; i++, now_ns += MS)
		nl_cobalt_overflow(&cobalt, &times, now_ns);
	/* at 0, 6, 12 .. 36 ms: more than a target after each other */
	CHECK(cobalt.probability == 7u << 24);
	/* a packet that another link passed on too late arrived before the last overflow */
	nl_cobalt_overflow(&cobalt, &times, now_ns - 6 * MS);
	CHECK(cobalt.probability == 7u << 24);
	/* its drops take no marks; a quarter of a second has none of the other kind, as the target is met */
	for (int i = 0; i < 100000; i++)
		dropped += leaves(0, 1) == 1;
	CHECK(near(dropped, 100000 * 7 / 256, 300));
	now_ns += 6 * MS;
	for (uint32_t i = 0; i < 7 * 16; i++, now_ns += 6 * MS) {
		CHECK(cobalt.probability == (7u << 24) - (i << 20));
		CHECK(!nl_cobalt_rests(&cobalt, now_ns));
		nl_cobalt_empty(&cobalt, &times, now_ns);
		nl_cobalt_empty(&cobalt, &times, now_ns);
	}
	CHECK(cobalt.probability == 0);
	while (cobalt.count)
		nl_cobalt_empty(&cobalt, &times, now_ns += MS);
	CHECK(nl_cobalt_rests(&cobalt, now_ns + 100 * MS));
	/* it never turns over */
	cobalt.probability = UINT32_MAX - 5;
	nl_cobalt_overflow(&cobalt, &times, now_ns + 1000 * MS);
	CHECK(cobalt.probability == UINT32_MAX);
}
