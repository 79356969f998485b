#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>

uint64_t nl_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return nl_timespec_ns(t);
}

uint64_t nl_now_ns(void)
{
	return nl_clock_ns(CLOCK_MONOTONIC);
}

uint64_t nl_thread_cpu_ns(void)
{
	return nl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t nl_thread_waited_ns(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long ran, waited = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &ran, &waited) != 2)
		waited = 0;
	fclose(file);
	return waited;
}

void nl_process_cpu_us(uint64_t us[2])
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	us[0] = (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec;
	us[1] = (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec;
}

int nl_poll_ms(uint64_t t_ns)
{
	uint64_t now = nl_now_ns(), ms;

	if (t_ns <= now)
		return 0;
	ms = (t_ns - now + NL_NS_PER_MS - 1) / NL_NS_PER_MS;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

void nl_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

void nl_sleep_ms(uint64_t ms)
{
	struct timespec left = nl_timespec(ms * NL_NS_PER_MS);

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}
