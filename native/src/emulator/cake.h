/* cake: the queue of CAKE before a rate, in the form of one tin (best effort).
 *
 *	flows     1024 queues in sets of eight: a flow takes a queue of its set that no other one has (set-associative)
 *	service   DRR++: by deficit; a flow that has sent no more than its quantum comes first (sparse), an emptied one
 *	          stays until its signals have counted down (decaying)
 *	hosts     the quantum of a flow is divided by the greater number of flows that are not sparse of its source and
 *	          of its destination (triple isolation)
 *	signals   COBALT on each queue (cobalt.h)
 *	limit     drops at the head of the longest queue
 *
 * Quantum and times follow the rate: a 4096th of the bytes of a second, 300 to 1514; a target of one and a half of the
 * largest packets at least. Not here: tins by DSCP, the filter of acknowledgements, NAT, overhead beside the link's,
 * a rate that is estimated. After Hoiland-Jorgensen, Taht and Morton, "Piece of CAKE" (LANMAN 2018), and Linux's
 * sch_cake(8). One thread at a time; now_ns never decreases. */
#pragma once

#include "emulator/cobalt.h"

enum {
	NL_CAKE_FLOWS = 1024,
	NL_CAKE_WAYS = 8,
};

struct nl_cake_opts {
	uint64_t rate_bps;
	uint64_t target_ns, interval_ns;
	uint64_t ecn;
	uint32_t largest_B; /* packet so far */
};

enum nl_cake_state {
	NL_CAKE_IDLE,
	NL_CAKE_SPARSE,
	NL_CAKE_SPARSE_WAIT, /* empty, and in the list of others until its deficit is made up */
	NL_CAKE_BULK,
	NL_CAKE_DECAYING,
};

struct nl_cake_flow {
	enum nl_cake_state state;
	uint32_t tag;     /* hash of the flow that has the queue */
	uint32_t host[2]; /* of its source and destination */
	struct nl_cobalt cobalt;
};

struct nl_cake_host {
	uint32_t tag, bulk; /* bulk: flows that are not sparse */
};

struct nl_cake {
	struct nl_cake_flow flow[NL_CAKE_FLOWS];
	struct nl_cake_host host[2][NL_CAKE_FLOWS];
	struct nl_flow_list fresh, old, decaying;
	struct nl_prng random;
};

/* NULL without memory, with errno. The flows of its queues are NL_CAKE_FLOWS. */
struct nl_cake *nl_cake_new(uint64_t seed);
void nl_cake_free(struct nl_cake *cake);

/* Queue a packet. 0, or -1 without room for it. */
int nl_cake_put(struct nl_cake *cake, struct nl_flow_queues *queues, const struct nl_cake_opts *opts,
		const struct nl_aqm_packet *packet);
/* Remove the packet that is dropped for a limit: the first one of the longest queue. */
void nl_cake_prune(struct nl_cake *cake, struct nl_flow_queues *queues, const struct nl_cake_opts *opts,
		   uint64_t now_ns, struct nl_aqm_packet *packet);
/* Remove the next packet: -1 it is to be dropped and the next one asked for, 1 to be transmitted, 0 there is none. */
int nl_cake_take(struct nl_cake *cake, struct nl_flow_queues *queues, const struct nl_cake_opts *opts, uint64_t now_ns,
		 struct nl_aqm_packet *packet);
