/* Steps of CLOCK_REALTIME, and arrivals that the kernel stamped before and after them. */
#include "base/clock.h"
#include "base/clock_steps.h"
#include "check.h"

static const int64_t hour_ns = INT64_C(3600000000000), ms_ns = INT64_C(1000000);

TEST(a_set_clock_is_a_step_and_noise_is_not)
{
	struct nl_clock_steps s = {.reference = {.realtime_ahead_ns = hour_ns, .unsure_ns = 100}};
	struct nl_clocks now = s.reference;

	now.realtime_ahead_ns += NL_CLOCK_STEP_MIN_NS;
	CHECK(nl_clock_steps_follow(&s, &now) == 0);
	now.realtime_ahead_ns = hour_ns + 5 * ms_ns;
	now.unsure_ns = 5000000; /* read while preempted */
	CHECK(nl_clock_steps_follow(&s, &now) == 0);
	now = (struct nl_clocks){.realtime_ahead_ns = hour_ns - 3000 * ms_ns, .unsure_ns = 100};
	CHECK(nl_clock_steps_follow(&s, &now) == 1);
	now.realtime_ahead_ns += 2000 * ms_ns;
	CHECK(nl_clock_steps_follow(&s, &now) == 1);
	CHECK(s.steps == 2 && s.step_ns == -3000 * ms_ns);
}

TEST(a_step_is_found_behind_a_reading_of_a_preempted_thread)
{
	struct nl_clock_steps s = {.reference = {.realtime_ahead_ns = hour_ns, .unsure_ns = 100}};
	struct nl_clocks now = {.realtime_ahead_ns = hour_ns + 4 * ms_ns, .unsure_ns = 5000000};

	CHECK(nl_clock_steps_follow(&s, &now) == 0);
	now.unsure_ns = 100;
	CHECK(nl_clock_steps_follow(&s, &now) == 1 && s.step_ns == 4 * ms_ns);
}

TEST(steps_below_the_least_one_add_up)
{
	struct nl_clock_steps s = {.reference = {.unsure_ns = 100}};
	struct nl_clocks now = s.reference;

	for (int i = 0; i < 10; i++) {
		now.realtime_ahead_ns -= 400000;
		nl_clock_steps_follow(&s, &now);
	}
	CHECK(s.steps == 3 && s.step_ns == -1200000);
}

/* Packets arrive every 100 us, and are read in turn, the clock is set by step_ns after the third.
 * None whose time is known has a wrong one. */
static void read_late(int64_t step_ns, uint64_t read_ns)
{
	struct nl_stamps s = {.steps.reference = {.realtime_ahead_ns = hour_ns, .unsure_ns = 100}};
	struct nl_clocks after = {.realtime_ahead_ns = hour_ns + step_ns, .unsure_ns = 100};
	int known = 0;

	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t arrived_ns = 1000000000 + i * 100000;
		uint64_t now_ns = arrived_ns < read_ns ? read_ns : arrived_ns + 1000;
		uint64_t stamp_ns = arrived_ns + (uint64_t)(hour_ns + (i < 3 ? 0 : step_ns));
		uint64_t t_ns = nl_stamp_ns(&s, &after, now_ns, stamp_ns);

		CHECK(t_ns == 0 || t_ns == arrived_ns);
		known += t_ns != 0;
	}
	CHECK(s.steps.steps == 1 && known > 5000);
}

TEST(an_arrival_that_waited_while_the_clock_was_set_has_no_time)
{
	static const int64_t step_ms[] = {-5, 5, -2, 2, -900, 900, -3600000, 5000};

	for (size_t i = 0; i < sizeof(step_ms) / sizeof(*step_ms); i++) {
		read_late(step_ms[i] * ms_ns, 1000000000);
		read_late(step_ms[i] * ms_ns, 1200000000);
	}
}

TEST(a_stamp_is_of_the_monotonic_clock_unless_the_thread_that_reads_was_preempted)
{
	struct nl_stamps s = {.steps.reference = {.realtime_ahead_ns = hour_ns}};
	struct nl_clocks now = s.steps.reference;

	CHECK(nl_stamp_ns(&s, &now, 100, (uint64_t)hour_ns + 7) == 7);
	CHECK(nl_stamp_ns(&s, &now, 100, (uint64_t)hour_ns + 101) == 0);
	now.unsure_ns = 2000000;
	CHECK(nl_stamp_ns(&s, &now, 100, (uint64_t)hour_ns + 7) == 0);
}

TEST(the_clocks_of_this_machine_do_not_step)
{
	struct nl_stamps s;
	struct nl_clocks now;
	uint64_t t_ns;

	nl_stamps_begin(&s);
	t_ns = nl_clock_ns(CLOCK_REALTIME);
	nl_clocks_read(&now);
	CHECK(now.realtime_ahead_ns > 0 && now.unsure_ns > 0);
	t_ns = nl_stamp_ns(&s, &now, nl_now_ns(), t_ns);
	CHECK(s.steps.steps == 0 && (t_ns == 0 || nl_now_ns() - t_ns < 60 * NL_NS_PER_S));
}
