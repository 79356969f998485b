#include "meter/processes.h"

#include "base/clock.h"
#include "check.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_US = 10000 };

static struct nl_process one;
static struct nl_others others;

static int parse(const char *text)
{
	return nl_process_parse(text, strlen(text), &one);
}

static struct nl_process_scan scan(struct nl_process *process, size_t count)
{
	return (struct nl_process_scan){.count = count, .capacity = count, .process = process};
}

/* Compare two scans of a process that is not among them. */
#define DIFF(then, now)                                                                            \
	do {                                                                                       \
		struct nl_process_scan a = scan(then, sizeof(then) / sizeof(then[0]));             \
		struct nl_process_scan b = scan(now, sizeof(now) / sizeof(now[0]));                \
                                                                                                   \
		nl_process_diff(&a, &b, 99, TICK_US, &others);                                     \
	} while (0)

TEST(times_are_parsed)
{
	CHECK(parse("42 (a (b) c) S 7 1 1 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 555 99 1\n") == 0);
	CHECK(one.pid == 42 && one.parent == 7 && one.born_ticks == 555 && !one.kernel);
	CHECK(one.own_ticks == 30 && one.children_ticks == 70);
	CHECK(strcmp(one.name, "a (b) c") == 0);
	CHECK(parse("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 0 0") == 0);
	CHECK(one.kernel);
}

TEST(malformed_text_is_rejected)
{
	CHECK(parse("") == -1 && parse("42") == -1);
	CHECK(parse("42 (x) S") == -1 && parse("42 (x") == -1);
	CHECK(parse("(x) S 1 1 1 0 -1 0 0 0 0 0 1 1 1 1 20 0 1 0 5 0") == -1);
	CHECK(parse("42 (x) S 1 1 1 0 -1 0 0 0 0 0 1 99999999999999999999 1 1 20 0 1 0 5") == -1);
}

TEST(growth_and_new_processes_count)
{
	struct nl_process then[] = {{.pid = 1}, {.pid = 5, .born_ticks = 1, .own_ticks = 10}};
	struct nl_process now[] = {{.pid = 1},
				   {.pid = 5, .born_ticks = 1, .own_ticks = 14, .name = "five"},
				   {.pid = 6, .born_ticks = 9, .own_ticks = 7, .name = "six"}};
	struct nl_process_scan a = scan(then, 2), b = scan(now, 3);

	a.t0_ns = 1, a.t1_ns = 2, b.t0_ns = 5, b.t1_ns = 9;
	nl_process_diff(&a, &b, 99, TICK_US, &others);
	CHECK(others.known && others.pid == 99 && others.cpu_us == 110000);
	CHECK(others.top_count == 2 && others.top[0].pid == 6 && others.top[0].cpu_us == 70000);
	CHECK(strcmp(others.top[0].name, "six") == 0 && others.top[0].born_ticks == 9);
	/* what was used while the second scan went on is in the time as well */
	CHECK(others.t0_ns == 1 && others.t1_ns == 9);
	nl_process_diff(&a, &b, 6, TICK_US, &others);
	CHECK(others.cpu_us == 40000 && others.top_count == 1 && others.born_ticks == 9);
}

/* A shell ran a child of 500 ticks, 3 of them between the scans. */
TEST(a_process_that_ended_counts_once)
{
	struct nl_process then[] = {{.pid = 1},
				    {.pid = 5, .parent = 1, .born_ticks = 1},
				    {.pid = 6, .parent = 5, .born_ticks = 2, .own_ticks = 490},
				    {.pid = 7, .parent = 6, .born_ticks = 3, .own_ticks = 10}};
	struct nl_process now[] = {{.pid = 1},
				   {.pid = 5, .parent = 1, .born_ticks = 1, .children_ticks = 503}};

	DIFF(then, now);
	CHECK(others.cpu_us == 3 * TICK_US && others.top[0].pid == 5);
}

/* A shell's child was killed before a child of its own, which process 1 then waited for. */
TEST(an_orphan_counts_once)
{
	struct nl_process then[] = {{.pid = 1, .children_ticks = 70},
				    {.pid = 5, .parent = 1, .born_ticks = 1},
				    {.pid = 6, .parent = 5, .born_ticks = 2, .own_ticks = 20},
				    {.pid = 7, .parent = 6, .born_ticks = 3, .own_ticks = 490}};
	struct nl_process now[] = {{.pid = 1, .children_ticks = 563},
				   {.pid = 5, .parent = 1, .born_ticks = 1, .children_ticks = 22}};

	DIFF(then, now);
	CHECK(others.cpu_us == 5 * TICK_US && others.top_count == 1);
}

TEST(a_pid_used_again_is_another_process)
{
	struct nl_process then[] = {{.pid = 5, .born_ticks = 1, .own_ticks = 1000}};
	struct nl_process now[] = {{.pid = 5, .born_ticks = 2, .own_ticks = 8}};

	DIFF(then, now);
	CHECK(others.cpu_us == 8 * TICK_US);
}

TEST(parents_in_a_circle_do_not_hang)
{
	struct nl_process then[] = {{.pid = 5, .parent = 6, .own_ticks = 1},
				    {.pid = 6, .parent = 5, .own_ticks = 1},
				    {.pid = 8, .born_ticks = 1}};
	struct nl_process now[] = {{.pid = 8, .born_ticks = 1, .children_ticks = 4}};

	DIFF(then, now);
	CHECK(others.cpu_us == 4 * TICK_US);
}

TEST(the_largest_are_listed)
{
	struct nl_process now[20];
	struct nl_process_scan a = scan(NULL, 0), b = scan(now, 20);

	memset(now, 0, sizeof(now));
	for (int i = 0; i < 20; i++)
		now[i] = (struct nl_process){.pid = i + 1, .own_ticks = (uint64_t)(i * 7 % 20)};
	nl_process_diff(&a, &b, 99, TICK_US, &others);
	CHECK(others.top_count == NL_TOP_PROCESSES && others.cpu_us == 190 * TICK_US);
	for (uint64_t i = 0; i < others.top_count; i++)
		CHECK(others.top[i].cpu_us == (19 - i) * TICK_US);
}

static uint64_t read_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* The row of a process that a scan has found. */
static struct nl_process *row_of(const struct nl_process_scan *found, pid_t pid)
{
	size_t i = 0;

	while (i < found->count && found->process[i].pid != pid)
		i++;
	return i < found->count ? &found->process[i] : NULL;
}

/* Its time is between what its own clock says within the scans and around them. It is compared alone: on a
 * busy machine it may not be among the largest. */
TEST(a_busy_process_of_this_machine_is_found)
{
	enum { BUSY_US = 100000, UNSURE_US = 3 * TICK_US };
	struct nl_process_scan a, b, alone[2];
	uint64_t found_us, all_us, at_us[4], began_us = read_us(CLOCK_MONOTONIC);
	pid_t child = fork();
	clockid_t clock;

	if (child == 0) {
		for (;;)
			;
	}
	CHECK(child > 0 && clock_getcpuclockid(child, &clock) == 0);
	at_us[0] = read_us(clock);
	CHECK(nl_process_scan(&a, NL_SCAN_FIRST) == 0 && a.count > 1);
	at_us[1] = read_us(clock);
	while (read_us(clock) - at_us[1] < BUSY_US)
		usleep(5000);
	at_us[2] = read_us(clock);
	CHECK(nl_process_scan(&b, NL_SCAN_SECOND) == 0);
	at_us[3] = read_us(clock);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	nl_process_diff(&a, &b, (int32_t)getpid(), TICK_US, &others);
	all_us = others.cpu_us;
	alone[0] = a;
	alone[1] = b;
	alone[0].process = row_of(&a, child);
	alone[1].process = row_of(&b, child);
	CHECK(alone[0].process && alone[1].process);
	alone[0].count = alone[1].count = 1;
	nl_process_diff(&alone[0], &alone[1], (int32_t)getpid(), TICK_US, &others);
	CHECK(others.top_count == 1 && others.top[0].pid == child);
	found_us = others.top[0].cpu_us;
	CHECK(found_us <= all_us);
	CHECK(found_us + UNSURE_US >= at_us[2] - at_us[1]);
	CHECK(found_us <= at_us[3] - at_us[0] + UNSURE_US);
	CHECK(others.t1_ns - others.t0_ns >= BUSY_US * UINT64_C(1000));
	CHECK(others.t1_ns - others.t0_ns <= (read_us(CLOCK_MONOTONIC) - began_us) * 1000);
	nl_process_scan_free(&a);
	nl_process_scan_free(&b);
}
