/* flow_queues: packets in a queue for each flow, and the flows in lists.
 *
 * Packets of all flows are nodes of one pool, which grows up to NL_FLOW_PACKETS_MAX. A flow is in one list
 * at most. Pure bookkeeping: it knows no time and drops nothing. One thread at a time. */
#pragma once

#include <stdint.h>

enum { NL_FLOW_PACKETS_MAX = 1 << 20, NL_FLOW_NONE = UINT32_MAX };

struct nl_aqm_packet {
	unsigned char *block;
	uint64_t arrived_ns;
	uint32_t segment, weight_B;
	uint32_t flow;                    /* a hash of its addresses and ports */
	uint32_t source, destination;     /* hashes of its hosts; of CAKE alone */
	uint8_t takes_marks, marked;      /* marked: by the discipline */
};

struct nl_flow_queue {
	uint32_t first, last, packets; /* nodes */
	uint32_t next, previous;       /* flows of its list */
	uint64_t bytes;
	int64_t deficit_B;
};

struct nl_flow_list {
	uint32_t first, last;
};

struct nl_flow_queues {
	struct nl_flow_node *node;
	uint32_t nodes, unused; /* allocated; the first unused one */
	struct nl_flow_queue *flow;
	uint64_t bytes, packets; /* of all flows */
};

/* 0, or -1 with errno. */
int nl_flow_queues_init(struct nl_flow_queues *q, uint32_t flows);
void nl_flow_queues_free(struct nl_flow_queues *q);

/* Copy a packet to the end of a flow's queue. 0, or -1 at the limit or without memory. */
int nl_flow_queue_append(struct nl_flow_queues *q, uint32_t flow, const struct nl_aqm_packet *packet);
/* Remove the first packet of a flow. 0: it has none. */
int nl_flow_queue_pop(struct nl_flow_queues *q, uint32_t flow, struct nl_aqm_packet *packet);

/* Begin with an empty list. */
void nl_flow_list_init(struct nl_flow_list *list);
int nl_flow_list_empty(const struct nl_flow_list *list);
/* Add a flow that is in no list. */
void nl_flow_list_append(struct nl_flow_queues *q, struct nl_flow_list *list, uint32_t flow);
/* Remove a flow of this list. */
void nl_flow_list_remove(struct nl_flow_queues *q, struct nl_flow_list *list, uint32_t flow);
