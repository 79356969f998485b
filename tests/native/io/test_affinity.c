/* sched_setaffinity is wrapped at link time, to fail on request. */
#include "check.h"
#include "io/affinity.h"
#include "netlab.h"

#include <errno.h>
#include <sched.h>

static int refused_with; /* errno of every sched_setaffinity, 0: the kernel's own result */

int __real_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	if (!refused_with)
		return __real_sched_setaffinity(pid, size, set);
	errno = refused_with;
	return -1;
}

TEST(lists_are_read_in_their_order)
{
	static const char *const bad[] = {"",     ",",   "0,",  ",0",    "1-",    "-1",  "2-1",
					  "0,0",  "0-3,2", "x",   "0 1",   "8192",  "0-8192",
					  "99999999999999999999", "1,,2", "0-1-2"};
	uint16_t cpu[16];
	size_t count = 99;

	CHECK(nl_cpulist_parse("5", cpu, 16, &count) == 0 && count == 1 && cpu[0] == 5);
	CHECK(nl_cpulist_parse("3,0-2,8191", cpu, 16, &count) == 0 && count == 5);
	CHECK(cpu[0] == 3 && cpu[1] == 0 && cpu[3] == 2 && cpu[4] == 8191);
	CHECK(nl_cpulist_parse("0-15", cpu, 16, &count) == 0 && count == 16);
	CHECK(nl_cpulist_parse("0-16", cpu, 16, &count) == -1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(nl_cpulist_parse(bad[i], cpu, 16, &count) == -1);
	CHECK(count == 16); /* unchanged by an invalid list */
}

static int open_with(const char *cpus, struct nl_err *err)
{
	static struct nl_affinity affinity;
	struct nl_run_opts opts;

	nl_run_opts_init(&opts, NL_GEN);
	CHECK(nl_run_opts_set(&opts, "cpus", cpus, err) == NL_OK);
	memset(err, 0, sizeof(*err));
	return nl_affinity_open(&affinity, &opts, err);
}

TEST(an_unavailable_cpu_is_named)
{
	cpu_set_t before, after;
	struct nl_err err;
	char here[8];

	CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &before))
			snprintf(here, sizeof(here), "%d", cpu);
	CHECK(open_with("", &err) == NL_OK);
	CHECK(open_with(here, &err) == NL_OK);
	CHECK(sched_getaffinity(0, sizeof(after), &after) == 0 && CPU_EQUAL(&before, &after));
	CHECK(open_with("8190", &err) == NL_BAD_REQUEST && strcmp(err.key, "cpus") == 0);
	CHECK(strstr(err.message, "CPU 8190 does not exist") && strstr(err.message, "online"));
	refused_with = EINVAL;
	CHECK(open_with(here, &err) == NL_REFUSED && strcmp(err.key, "cpus") == 0);
	CHECK(strstr(err.message, "not allowed for this process") && strstr(err.message, "errno 22"));
	refused_with = 0;
}

/* The CPUs that threads are spread over, in `affinity`. Their number. */
static size_t spread(struct nl_affinity *affinity, uint64_t threads, int always)
{
	CHECK(nl_affinity_spread(affinity, threads, always) == (affinity->count > 0) || affinity->follow);
	return affinity->count;
}

#define SPREAD(threads, always) spread(&(struct nl_affinity){0}, threads, always)

TEST(one_thread_per_cpu_is_pinned)
{
	struct nl_affinity affinity = {0};
	cpu_set_t allowed;
	uint64_t cpus;

	CHECK(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
	cpus = (uint64_t)CPU_COUNT(&allowed);
	CHECK(SPREAD(cpus + 1, 0) == 0 && (cpus == 1 || SPREAD(cpus - 1, 0) == 0));
	CHECK(SPREAD(NL_CPUS_MAX + 1, 0) == 0);
	if (cpus > NL_CPUS_MAX)
		return;
	CHECK(spread(&affinity, cpus, 0) == cpus);
	for (size_t i = 0; i < affinity.count; i++)
		CHECK(CPU_ISSET(affinity.cpu[i], &allowed) && (i == 0 || affinity.cpu[i] > affinity.cpu[i - 1]));
	affinity.cpu[0] = 4321; /* an explicit list is unchanged */
	nl_affinity_spread(&affinity, cpus, 0);
	CHECK(affinity.cpu[0] == 4321);
	CHECK(spread(&(struct nl_affinity){.follow = 1}, cpus, 0) == 0);
	CHECK(SPREAD(cpus + 1, 1) == cpus && SPREAD(1, 1) == 1); /* always */
}
