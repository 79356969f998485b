/* clock: CLOCK_MONOTONIC in nanoseconds; nl_now_ns is in netlab.h. */
#pragma once

#include "netlab.h"

#include <pthread.h>
#include <time.h>

#define NL_NS_PER_MS UINT64_C(1000000)
#define NL_NS_PER_S UINT64_C(1000000000)

static inline struct timespec nl_timespec(uint64_t t_ns)
{
	return (struct timespec){.tv_sec = (time_t)(t_ns / NL_NS_PER_S),
				 .tv_nsec = (long)(t_ns % NL_NS_PER_S)};
}

static inline uint64_t nl_timespec_ns(struct timespec t)
{
	return (uint64_t)t.tv_sec * NL_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* The time of any clock. */
uint64_t nl_clock_ns(clockid_t clock);

/* CPU time of the calling thread so far. */
uint64_t nl_thread_cpu_ns(void);

/* Time that the calling thread was runnable without running; 0 where the kernel does not report it. */
uint64_t nl_thread_waited_ns(void);

/* User and system time of this process so far. */
void nl_process_cpu_us(uint64_t us[2]);

static inline uint64_t nl_sooner(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* Milliseconds from now until t_ns, rounded up, for poll(); 0 when it is past. */
int nl_poll_ms(uint64_t t_ns);

/* Initialise a condition whose timed wait takes a time of this clock. */
void nl_condition_init(pthread_cond_t *condition);

/* Sleep the whole time, also when signals arrive. */
void nl_sleep_ms(uint64_t ms);
