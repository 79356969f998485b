#include "io/affinity.h"

#include "base/error.h"
#include "base/files.h"
#include "base/request.h"
#include "net/sockopts.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#ifndef SO_INCOMING_CPU
#define SO_INCOMING_CPU 49
#endif
#ifndef SO_INCOMING_NAPI_ID
#define SO_INCOMING_NAPI_ID 56
#endif

enum { ONLINE_TEXT_MAX = 4096 };

/* A CPU set for any number of a list: the kernel requires one at least as long as its own. */
struct set {
	unsigned long bits[(NL_CPU_NUMBER_MAX + 1) / (8 * sizeof(unsigned long))];
};

static cpu_set_t *as_cpu_set(struct set *set)
{
	return (cpu_set_t *)(void *)set->bits;
}

/* The CPUs of the calling thread; none if they are not known. */
static struct set own_set(void)
{
	struct set set = {{0}};

	if (sched_getaffinity(0, sizeof(set), as_cpu_set(&set)))
		memset(&set, 0, sizeof(set));
	return set;
}

static int run_on(unsigned cpu)
{
	struct set set = {{0}};

	CPU_SET_S(cpu, sizeof(set), as_cpu_set(&set));
	return sched_setaffinity(0, sizeof(set), as_cpu_set(&set)) ? errno : 0;
}

static int set_has_cpu(struct set *set, unsigned cpu)
{
	return CPU_ISSET_S(cpu, sizeof(*set), as_cpu_set(set)) != 0;
}

/* The only CPU of a set, or -1 if it has none or several. */
static int set_single_cpu(struct set *set)
{
	int cpu = 0;

	if (CPU_COUNT_S(sizeof(*set), as_cpu_set(set)) != 1)
		return -1;
	while (!set_has_cpu(set, (unsigned)cpu))
		cpu++;
	return cpu;
}

static int incoming_cpu(int fd)
{
	int cpu = -1;
	socklen_t len = sizeof(cpu);

	getsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &len); /* -1 if the kernel refuses */
	return cpu < 0 || cpu > NL_CPU_NUMBER_MAX ? -1 : cpu;
}

struct trial {
	const struct nl_affinity *affinity;
	size_t failed; /* index in the list, if errnum is set */
	int errnum;
};

/* Runs in a thread of its own, so that the caller's affinity stays. */
static void *try_all(void *argument)
{
	struct trial *trial = argument;

	for (size_t i = 0; i < trial->affinity->count && !trial->errnum; i++) {
		trial->failed = i;
		trial->errnum = run_on(trial->affinity->cpu[i]);
	}
	return NULL;
}

static int fail_cpu(unsigned cpu, int errnum, struct nl_err *err)
{
	char text[ONLINE_TEXT_MAX];
	uint16_t online[NL_CPU_NUMBER_MAX + 1];
	size_t count = 0;
	long len = nl_file_read("/sys/devices/system/cpu/online", text, sizeof(text));
	int there = 0;

	text[len > 0 ? strcspn(text, "\n") : 0] = '\0';
	if (nl_cpulist_parse(text, online, NL_CPU_NUMBER_MAX + 1, &count))
		return nl_fail_option(err, "cpus", errnum, "sched_setaffinity to CPU %u", cpu);
	for (size_t i = 0; i < count; i++)
		there |= online[i] == cpu;
	if (!there)
		return nl_fail_key(err, "cpus", "CPU %u does not exist: %.100s are online", cpu, text);
	return nl_fail_option(err, "cpus", errnum,
			      "CPU %u exists, but is not allowed for this process: sched_setaffinity",
			      cpu);
}

int nl_affinity_open(struct nl_affinity *affinity, const struct nl_run_opts *opts,
		     struct nl_err *err)
{
	struct trial trial = {.affinity = affinity};
	pthread_t thread;
	int errnum;

	memset(affinity, 0, sizeof(*affinity));
	affinity->follow = opts->follow_incoming_cpu;
	if (opts->cpus[0] == '\0')
		return NL_OK;
	if (nl_cpulist_parse(opts->cpus, affinity->cpu, NL_CPUS_MAX, &affinity->count))
		return nl_fail_key(err, "cpus", "cpus: not a list of CPUs, as 0,2-3");
	errnum = pthread_create(&thread, NULL, try_all, &trial);
	if (errnum)
		return nl_fail_errno(err, errnum, "thread to test the CPUs");
	pthread_join(thread, NULL);
	return trial.errnum ? fail_cpu(affinity->cpu[trial.failed], trial.errnum, err) : NL_OK;
}

int nl_affinity_spread(struct nl_affinity *affinity, uint64_t threads, int always)
{
	struct set set = own_set();
	size_t count = 0;

	if (affinity->count || affinity->follow || threads > NL_CPUS_MAX)
		return 0;
	for (unsigned cpu = 0; cpu <= NL_CPU_NUMBER_MAX; cpu++) {
		if (!set_has_cpu(&set, cpu))
			continue;
		if (count < threads)
			affinity->cpu[count] = (uint16_t)cpu;
		count++;
	}
	affinity->count = count == threads ? count : 0;
	if (always)
		affinity->count = count < threads ? count : (size_t)threads;
	return affinity->count > 0;
}

uint64_t nl_affinity_allowed(void)
{
	struct set set = own_set();

	return (uint64_t)CPU_COUNT_S(sizeof(set), as_cpu_set(&set));
}

int nl_affinity_apply(const struct nl_affinity *affinity, uint64_t index, int fd)
{
	int cpu;

	if (affinity->count)
		return run_on(affinity->cpu[index % affinity->count]);
	if (!affinity->follow)
		return 0;
	/* the handshake's packets have arrived; ignore a CPU that this process may not use */
	cpu = incoming_cpu(fd);
	if (cpu >= 0)
		run_on((unsigned)cpu);
	return 0;
}

int nl_affinity_follow(const struct nl_affinity *affinity, pthread_t thread, int fd)
{
	int cpu = affinity->follow ? incoming_cpu(fd) : -1;
	struct set set = {{0}};

	if (cpu < 0 || pthread_getaffinity_np(thread, sizeof(set), as_cpu_set(&set)) || set_single_cpu(&set) == cpu)
		return 0;
	memset(&set, 0, sizeof(set));
	CPU_SET_S((unsigned)cpu, sizeof(set), as_cpu_set(&set));
	return pthread_setaffinity_np(thread, sizeof(set), as_cpu_set(&set)) == 0;
}

void nl_affinity_describe(int fd, struct nl_stream_report *out)
{
	struct set set = own_set();

	out->cpu = set_single_cpu(&set);
	out->incoming_cpu = incoming_cpu(fd);
	/* 0: the kernel or the device has no number */
	out->napi_id = (uint32_t)nl_sockopts_number(fd, SOL_SOCKET, SO_INCOMING_NAPI_ID);
}

int nl_cpulist_parse(const char *text, uint16_t *cpu, size_t cap, size_t *count)
{
	const char *end = text + strlen(text);
	uint8_t seen[NL_CPU_NUMBER_MAX + 1] = {0};
	size_t n = 0;

	for (const char *at = text;; at++) {
		uint64_t first, last;

		if (nl_decimal_take(&at, end, &first))
			return -1;
		last = first;
		if (*at == '-') {
			at++;
			if (nl_decimal_take(&at, end, &last))
				return -1;
		}
		if (last < first || last > NL_CPU_NUMBER_MAX)
			return -1;
		for (uint64_t c = first; c <= last; c++) {
			if (n == cap || seen[c])
				return -1;
			seen[c] = 1;
			cpu[n++] = (uint16_t)c;
		}
		if (*at == '\0')
			break;
		if (*at != ',')
			return -1;
	}
	*count = n;
	return 0;
}
