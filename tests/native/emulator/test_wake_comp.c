#include "check.h"
#include "emulator/wake_comp.h"

enum { US = 1000, MS = 1000 * US };

#define NEVER UINT64_MAX

static struct nl_wake_comp rest;

static void begin(void)
{
	nl_wake_comp_init(&rest);
}

#define RESTED(function) TEST_WITH(function, begin, NULL)

/* Sleep for an event due after wait_ns, and wake late_ns after the requested time. */
static uint64_t sleep_once(uint64_t now_ns, uint64_t wait_ns, uint64_t late_ns)
{
	uint64_t sleep_ns = nl_wake_comp_begin(&rest, now_ns, now_ns + wait_ns, NEVER);

	nl_wake_comp_end(&rest, now_ns + sleep_ns + late_ns);
	return sleep_ns;
}

RESTED(it_wakes_early_and_polls_until_due)
{
	CHECK(nl_wake_comp_begin(&rest, MS, 21 * MS, NEVER) == 20 * MS - NL_WAKE_COMP_WAKE_MAX_NS);
	nl_wake_comp_end(&rest, 21 * MS - 90 * US);
	CHECK(nl_wake_comp_begin(&rest, 21 * MS - 90 * US, 21 * MS, NEVER) == 0);
	CHECK(nl_wake_comp_begin(&rest, 21 * MS, 21 * MS, NEVER) == 0);
	/* an earlier event interrupted the sleep */
	CHECK(nl_wake_comp_begin(&rest, 21 * MS - 90 * US, 21 * MS - 50 * US, NEVER) == 40 * US);
}

RESTED(a_poll_may_be_late)
{
	CHECK(nl_wake_comp_begin(&rest, 0, NEVER, 100 * MS) == 100 * MS);
	CHECK(nl_wake_comp_begin(&rest, 0, 200 * MS, 100 * MS) == 100 * MS);
	CHECK(nl_wake_comp_begin(&rest, 200 * MS, 300 * MS, 100 * MS) == 0);
}

RESTED(short_waits_are_not_split)
{
	CHECK(nl_wake_comp_begin(&rest, MS, MS + 200 * US, NEVER) == 200 * US);
	nl_wake_comp_end(&rest, 2 * MS);
	CHECK(rest.most_ns == NL_WAKE_COMP_WAKE_MAX_NS && rest.mean_ns == 0); /* and change nothing */
}

RESTED(the_wake_up_latency_is_measured)
{
	uint64_t sleep_ns = 0;

	for (int i = 0; i < 100; i++)
		sleep_ns = sleep_once(MS, 10 * MS, 40 * US);
	CHECK(sleep_ns > 10 * MS - 42 * US && sleep_ns <= 10 * MS - 40 * US);
	CHECK(rest.mean_ns > 39 * US && rest.mean_ns <= 40 * US);
	/* a sleep of seconds, after a suspension of the machine, is not representative */
	sleep_once(MS, 10 * MS, 3000 * (uint64_t)MS);
	CHECK(rest.most_ns <= 85 * US && rest.mean_ns <= 65 * US);
	for (int i = 0; i < 1000; i++)
		sleep_once(MS, 10 * MS, 3000 * (uint64_t)MS);
	CHECK(rest.most_ns <= NL_WAKE_COMP_WAKE_MAX_NS && rest.mean_ns <= NL_WAKE_COMP_WAKE_MAX_NS);
}

RESTED(an_interrupting_event_is_dated_back)
{
	for (int i = 0; i < 100; i++)
		sleep_once(MS, 10 * MS, 40 * US);
	nl_wake_comp_begin(&rest, MS, 11 * MS, NEVER);
	nl_wake_comp_end(&rest, 5 * MS);
	CHECK(nl_wake_comp_ended_by_ns(&rest, 5 * MS) == 5 * MS - rest.mean_ns);
	CHECK(rest.mean_ns > 39 * US); /* the sleep did not time out, so it is not a measurement */
	/* not before the start of the sleep, nor after hardly any sleep */
	for (uint64_t after_ns = 0; after_ns < 300 * US; after_ns += US)
		CHECK(nl_wake_comp_ended_by_ns(&rest, MS + after_ns) >= MS);
	CHECK(nl_wake_comp_ended_by_ns(&rest, MS + 30 * US) == MS + 30 * US);
}

RESTED(an_event_during_preemption_is_not_dated_back)
{
	CHECK(nl_wake_comp_found_by_ns(5 * MS, 5 * MS) == 5 * MS);
	CHECK(nl_wake_comp_found_by_ns(5 * MS, 5 * MS + 60 * US) == 5 * MS);
	CHECK(nl_wake_comp_found_by_ns(5 * MS, 5 * MS + NL_WAKE_COMP_STEP_NS) == 5 * MS + NL_WAKE_COMP_STEP_NS);
	CHECK(nl_wake_comp_found_by_ns(5 * MS, 9 * MS) == 9 * MS);
}
