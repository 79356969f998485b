/* engine: choose the engine and the I/O method of a run. */
#pragma once

#include "net/interface.h"
#include "netlab.h"

struct nl_engine;
struct nl_io_method;

struct nl_choice {
	const struct nl_engine *engine;
	const struct nl_io_method *method;
	uint64_t threads;
	int blocking; /* mode of the sockets */
	struct nl_policy policy;
};

/* Choose for the run. NL_REFUSED with the reason if this kernel lacks support; `auto` chooses an
 * engine that it has. */
int nl_engine_choose(const struct nl_run_opts *opts, struct nl_choice *out, struct nl_err *err);

/* Per-stream batch and yield thresholds.
 *
 * A gen that shares CPUs with sinks yields regularly, so that sinks read data that are still in the
 * cache and the backlog stays small.
 *
 * With offloads, where TCP passes large packets to the interface, a batch fits a cache, and a round of
 * all streams is bounded. Without, a batch is a number of packets; a small one avoids contention where
 * several threads send into one transmit queue, which a large batch finds full. */
enum {
	NL_BATCH_PACKETS = 64,
	NL_BATCH_YIELD_B = 4 << 20,
	NL_BATCH_THREAD_B = 2 << 20, /* of a thread with one stream */
	NL_BATCH_CACHE_B = 1 << 20, /* with large packets: what a sink on the CPU finds in half an L2 cache */
	NL_BATCH_SHARED_B = 128 << 10,
};

/* The most that all streams together move before the first has its next turn, so that each of 10,000
 * has several in a window of seconds. */
#define NL_BATCH_ROUND_B (UINT64_C(4) << 30)

struct nl_batch {
	uint64_t stream_B; /* UINT64_MAX: no limit */
	uint64_t yield_B;  /* UINT64_MAX: never */
};

/* The thresholds for streams on threads (one thread per stream if equal) of a machine with cpus. */
struct nl_batch nl_batch_of(uint64_t streams, uint64_t threads, uint64_t cpus,
			    struct nl_egress egress);
