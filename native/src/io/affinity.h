/* affinity: which CPU moves the bytes of a stream.
 *
 * Threads take the CPUs of a list in turn, or each is kept on the CPU that the packets of
 * its stream come in on (SO_INCOMING_CPU). Without either the kernel's scheduler decides, but
 * for threads that are one a CPU and have many streams each: those keep to a CPU each. */
#ifndef NL_AFFINITY_H
#define NL_AFFINITY_H

#include "netlab.h"

#include <pthread.h>

struct nl_affinity {
	uint64_t follow;
	size_t count; /* 0: no list */
	uint16_t cpu[NL_CPUS_MAX];
};

/* From the options; every CPU of the list is tried: one that is not there or that this
 * process may not run on is an error. */
int nl_affinity_open(struct nl_affinity *affinity, const struct nl_run_opts *opts,
		     struct nl_err *err);

/* So many threads with many streams each: a CPU for each, if this process may run on just as many
 * and nothing else was asked for. A gen and a sink that share a machine then share caches too. */
void nl_affinity_spread(struct nl_affinity *affinity, uint64_t threads);

/* Put the calling thread, the index-th of its run, where it belongs; fd is the (first)
 * stream it moves. 0 or errno. */
int nl_affinity_apply(const struct nl_affinity *affinity, uint64_t index, int fd);

/* Move a living thread after its packets, when that was asked for; 1 when it was moved. */
int nl_affinity_follow(const struct nl_affinity *affinity, pthread_t thread, int fd);

/* Where the calling thread may run and fd's packets come in, into cpu and incoming_cpu. */
void nl_affinity_describe(int fd, struct nl_stream_report *out);

#endif
