/* affinity: CPU affinity of the worker threads.
 *
 * Threads take the CPUs of a list round robin, or each follows the CPU on which its stream's
 * packets arrive (SO_INCOMING_CPU). Otherwise the scheduler decides, except for one thread per CPU
 * with many streams each: these get a CPU each. */
#pragma once

#include "netlab.h"

#include <pthread.h>

struct nl_affinity {
	uint64_t follow;
	size_t count; /* 0: no list */
	uint16_t cpu[NL_CPUS_MAX];
};

/* Read the options and test every CPU of the list. A CPU that is offline or not allowed is an
 * error. */
int nl_affinity_open(struct nl_affinity *affinity, const struct nl_run_opts *opts,
		     struct nl_err *err);

/* Pin threads with many streams each to one CPU each, if the number of allowed CPUs equals the
 * number of threads and no option says otherwise. A gen and a sink on one machine then share
 * caches. With always, pin them whatever the numbers, round robin. 1 if they are to be pinned. */
int nl_affinity_spread(struct nl_affinity *affinity, uint64_t threads, int always);

/* Number of CPUs that the calling thread may use; 0 if unknown. */
uint64_t nl_affinity_allowed(void);

/* Set the affinity of the calling thread, the index-th of its run; fd is its first stream. 0 or
 * errno. */
int nl_affinity_apply(const struct nl_affinity *affinity, uint64_t index, int fd);

/* Move a live thread to the CPU of its packets, if the options ask for it; 1 if moved. */
int nl_affinity_follow(const struct nl_affinity *affinity, pthread_t thread, int fd);

/* Read the calling thread's CPU, and the CPU and queue of fd's packets: cpu, incoming_cpu, napi_id. */
void nl_affinity_describe(int fd, struct nl_stream_report *out);

/* CPU lists in the kernel's format, `0,2-3`. Pure. */
enum { NL_CPU_NUMBER_MAX = 8191 }; /* more than any kernel supports */

/* Parse text into cpu[], in its order, at most cap numbers. 0, or -1 if the text is not a CPU list,
 * repeats a number, or has more. */
int nl_cpulist_parse(const char *text, uint16_t *cpu, size_t cap, size_t *count);
