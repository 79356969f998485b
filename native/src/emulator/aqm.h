/* aqm: the queue before a rate, under a discipline, as a clock-free model over packets.
 *
 *	fifo      drops what arrives above the limits
 *	codel     RFC 8289, section 5: drops at the head by the time that packets spent in the queue
 *	fq_codel  RFC 8290: a queue a flow, served in turn by deficit, CoDel on each of them
 *	pie       RFC 8033, appendix A: drops what arrives, with a probability of the queueing delay
 *	cake      a queue a flow, by flows and hosts, with COBALT on each of them (cake.h)
 *
 * With ecn a packet whose sender takes marks is marked (RFC 3168) in place of an early drop, as by the disciplines
 * of Linux: PIE marks up to a probability of a tenth, and drops above it (RFC 8033, section 5.1). The limits hold in
 * every discipline, and drop. The queue has the order of the packets; their memory is the caller's, who is called
 * for each packet that is dropped, and sets the mark. One thread at a time; now_ns never decreases, but a packet that
 * another link passed on late may have arrived before the one before it. */
#pragma once

#include "base/prng.h"
#include "emulator/cake.h"
#include "emulator/flow_queues.h"

#include <stddef.h>
#include <stdint.h>

enum nl_discipline { NL_DISCIPLINE_NONE, NL_FIFO, NL_CODEL, NL_FQ_CODEL, NL_PIE, NL_CAKE };

enum { NL_AQM_FLOWS = NL_CAKE_FLOWS };

struct nl_aqm_opts {
	uint64_t discipline;
	uint64_t target_ns, interval_ns; /* of CoDel; PIE: reference delay, and time between updates */
	uint64_t limit_B, limit_packets; /* 0: none but NL_FLOW_PACKETS_MAX */
	uint64_t ecn;                    /* 0: drops, never marks */
	uint64_t seed;
	uint64_t rate_bps; /* of the link; CAKE's quantum and times follow it */
};

enum nl_aqm_drop { NL_DROP_LIMIT, NL_DROP_EARLY };
typedef void nl_aqm_dropped(void *context, const struct nl_aqm_packet *packet, enum nl_aqm_drop why);

struct nl_codel {
	uint64_t first_above_ns, drop_next_ns;
	uint32_t count, last_count;
	int dropping;
};

struct nl_pie {
	double probability;
	uint64_t delay_ns, old_delay_ns, burst_ns, update_ns;
};

struct nl_aqm_flow {
	struct nl_codel codel;
	int listed;
};

struct nl_aqm {
	struct nl_aqm_opts opts;
	nl_aqm_dropped *dropped;
	void *context;
	struct nl_flow_queues flows; /* of FQ-CoDel and CAKE; in others all packets are of the first one */
	struct nl_aqm_flow *of;      /* [NL_AQM_FLOWS] */
	struct nl_flow_list fresh, old;
	struct nl_cake *cake; /* or NULL */
	struct nl_pie pie;
	struct nl_prng random;
	uint32_t largest_B; /* packet so far */
};

/* 0, or -1 with errno. */
int nl_aqm_init(struct nl_aqm *q, const struct nl_aqm_opts *opts, nl_aqm_dropped *dropped, void *context);
void nl_aqm_free(struct nl_aqm *q);

/* Add a packet, or drop it or others. */
void nl_aqm_put(struct nl_aqm *q, const struct nl_aqm_packet *packet, uint64_t now_ns);
/* Remove the packet to be transmitted next, after dropping others. 0: the queue is empty now. */
int nl_aqm_take(struct nl_aqm *q, struct nl_aqm_packet *packet, uint64_t now_ns);
