#include "base/clock.h"
#include "check.h"
#include "io/schedule.h"

enum { PER_MS = 100, START_MS = 7 };

static struct nl_schedule s;

/* A turn at each planned time until then; the most datagrams that a turn of it had due. */
static uint64_t turns_until(uint64_t ms)
{
	uint64_t most = 0, before = s.due;

	for (uint64_t now = s.next_ns; now <= ms * NL_NS_PER_MS; now = s.next_ns, before = s.due) {
		CHECK(nl_schedule_turn(&s, now) == 0);
		most = s.due - before > most ? s.due - before : most;
	}
	return most;
}

/* A schedule that was on time up to START_MS. */
static void begin(uint64_t ahead_ns)
{
	s = nl_schedule_of(1000.0 * PER_MS, ahead_ns);
	CHECK(nl_schedule_turn(&s, NL_NS_PER_MS) == 0);
	turns_until(START_MS);
	CHECK(s.late == 0);
}

TEST(what_is_due_follows_the_rate)
{
	begin(0);
	CHECK(turns_until(1000) <= 1 + PER_MS * NL_TURN_NS / NL_NS_PER_MS);
	CHECK(s.due >= 999 * PER_MS - 10 && s.due <= 999 * PER_MS + 1 && s.late == 0);
}

TEST(a_kernel_that_paces_gets_it_ahead)
{
	begin(5 * NL_NS_PER_MS);
	turns_until(1000);
	CHECK(s.due >= 1001 * PER_MS && s.due <= 1004 * PER_MS + 1);
	CHECK(s.next_ns > s.turn_ns + 2 * NL_NS_PER_MS);
}

TEST(after_a_stall_it_catches_up_at_a_quarter_more_than_its_rate)
{
	uint64_t before, stalled_ms = START_MS + 8;

	begin(0);
	before = s.due;
	CHECK(nl_schedule_turn(&s, stalled_ms * NL_NS_PER_MS) == 0);
	CHECK(s.due - before <= 2 + PER_MS && s.late >= 7 * PER_MS && s.late <= 8 * PER_MS);
	CHECK(turns_until(stalled_ms + 10) <= 2 + 2 * PER_MS * NL_TURN_NS / NL_NS_PER_MS);
	CHECK(s.late > 0);
	turns_until(stalled_ms + 40);
	CHECK(s.late == 0);
}

TEST(what_is_late_by_more_than_the_limit_is_skipped)
{
	uint64_t skipped, before;

	begin(0);
	before = s.due;
	skipped = nl_schedule_turn(&s, (START_MS + 50) * NL_NS_PER_MS);
	CHECK(skipped >= 38 * PER_MS && skipped <= 40 * PER_MS);
	CHECK(s.due - before - skipped <= 2 + PER_MS && s.late == s.most);
}
