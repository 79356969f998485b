/* turns: how much a stream of a set moves before the next one, and how much a thread sends
 * before it lets others run.
 *
 * Where sinks have to share processors with gens, a gen that lets them run now and then has them
 * read what is still in the cache, and no backlog builds up that has outgrown it.
 *
 * A stream's turn is a number of packets, as TCP hands them to the interface: what is begun with
 * one stream is all the cheaper, and what a thread sends in one go still finds room on the way.
 * Turns are longest where each of very many streams starts its turn cold and packets are large.
 * Where threads have to send small packets into one queue, each record is handed over as it was
 * sent: whoever sends more finds the queue full that another one is emptying. */
#ifndef NL_BATCH_H
#define NL_BATCH_H

#include "net/egress.h"

#include <stdint.h>

enum {
	NL_BATCH_PACKETS = 64,
	NL_BATCH_YIELD_B = 4 << 20,
	NL_BATCH_THREAD_B = 2 << 20, /* of a thread that has one stream */
	NL_BATCH_LARGE_SET = 64,	    /* streams of a thread, from which on a set is large */
	NL_BATCH_LARGE_SET_B = 8 << 20,
	NL_BATCH_SHARED_B = 128 << 10,
};

struct nl_batch {
	uint64_t stream_B;
	uint64_t yield_B; /* UINT64_MAX: never */
};

/* For streams on threads (as many as streams: a thread each) of a machine with cpus. */
struct nl_batch nl_batch_of(uint64_t streams, uint64_t threads, uint64_t cpus,
			    struct nl_egress egress);

#endif
