#include "emulator/flow_queues.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_NODES = 1024 };

struct nl_flow_node {
	struct nl_aqm_packet packet;
	uint32_t next;
};

int nl_flow_queues_init(struct nl_flow_queues *q, uint32_t flows)
{
	memset(q, 0, sizeof(*q));
	q->unused = NL_FLOW_NONE;
	q->flow = calloc(flows, sizeof(*q->flow));
	if (!q->flow)
		return -1;
	for (uint32_t i = 0; i < flows; i++)
		q->flow[i].first = NL_FLOW_NONE;
	return 0;
}

void nl_flow_queues_free(struct nl_flow_queues *q)
{
	free(q->node);
	free(q->flow);
	q->node = NULL;
	q->flow = NULL;
	q->bytes = q->packets = 0;
}

/* Double the nodes. 0, or -1 at the limit or without memory. */
static int nodes_grow(struct nl_flow_queues *q)
{
	uint32_t nodes = q->nodes ? 2 * q->nodes : FIRST_NODES;
	struct nl_flow_node *more;

	if (nodes > NL_FLOW_PACKETS_MAX)
		return -1;
	more = realloc(q->node, nodes * sizeof(*more));
	if (!more)
		return -1;
	for (uint32_t i = q->nodes; i < nodes; i++)
		more[i].next = i + 1 < nodes ? i + 1 : q->unused;
	q->unused = q->nodes;
	q->node = more;
	q->nodes = nodes;
	return 0;
}

int nl_flow_queue_append(struct nl_flow_queues *q, uint32_t flow, const struct nl_aqm_packet *packet)
{
	struct nl_flow_queue *f = &q->flow[flow];
	uint32_t at = q->unused;

	if (at == NL_FLOW_NONE && nodes_grow(q))
		return -1;
	at = q->unused;
	q->unused = q->node[at].next;
	q->node[at] = (struct nl_flow_node){*packet, NL_FLOW_NONE};
	if (f->first == NL_FLOW_NONE)
		f->first = at;
	else
		q->node[f->last].next = at;
	f->last = at;
	f->packets++;
	f->bytes += packet->weight_B;
	q->packets++;
	q->bytes += packet->weight_B;
	return 0;
}

int nl_flow_queue_pop(struct nl_flow_queues *q, uint32_t flow, struct nl_aqm_packet *packet)
{
	struct nl_flow_queue *f = &q->flow[flow];
	uint32_t at = f->first;

	if (at == NL_FLOW_NONE)
		return 0;
	*packet = q->node[at].packet;
	f->first = q->node[at].next;
	q->node[at].next = q->unused;
	q->unused = at;
	f->packets--;
	f->bytes -= packet->weight_B;
	q->packets--;
	q->bytes -= packet->weight_B;
	return 1;
}

void nl_flow_list_init(struct nl_flow_list *list)
{
	list->first = list->last = NL_FLOW_NONE;
}

int nl_flow_list_empty(const struct nl_flow_list *list)
{
	return list->first == NL_FLOW_NONE;
}

void nl_flow_list_append(struct nl_flow_queues *q, struct nl_flow_list *list, uint32_t flow)
{
	q->flow[flow].next = NL_FLOW_NONE;
	q->flow[flow].previous = list->last;
	if (nl_flow_list_empty(list))
		list->first = flow;
	else
		q->flow[list->last].next = flow;
	list->last = flow;
}

void nl_flow_list_remove(struct nl_flow_queues *q, struct nl_flow_list *list, uint32_t flow)
{
	const struct nl_flow_queue *f = &q->flow[flow];

	if (f->previous == NL_FLOW_NONE)
		list->first = f->next;
	else
		q->flow[f->previous].next = f->next;
	if (f->next == NL_FLOW_NONE)
		list->last = f->previous;
	else
		q->flow[f->next].previous = f->previous;
}
