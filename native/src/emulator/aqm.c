#include "emulator/aqm.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX, FIRST_NODES = 1024, QUANTUM_B = 1514, BATCH = 64 };

#define MS UINT64_C(1000000)
#define MAX_BURST_NS (150 * MS)
#define PIE_MARKS_UP_TO 0.1 /* probability */
#define NS_PER_S 1e9

struct nl_aqm_node {
	struct nl_aqm_packet packet;
	uint32_t next;
};

int nl_aqm_init(struct nl_aqm *q, const struct nl_aqm_opts *opts, nl_aqm_dropped *dropped, void *context)
{
	memset(q, 0, sizeof(*q));
	q->opts = *opts;
	q->dropped = dropped;
	q->context = context;
	q->unused = q->fresh.first = q->old.first = NONE;
	q->pie.burst_ns = MAX_BURST_NS;
	nl_prng_seed(&q->random, opts->seed);
	q->flow = calloc(NL_AQM_FLOWS, sizeof(*q->flow));
	if (!q->flow)
		return -1;
	for (int i = 0; i < NL_AQM_FLOWS; i++)
		q->flow[i].first = NONE;
	return 0;
}

void nl_aqm_free(struct nl_aqm *q)
{
	free(q->node);
	free(q->flow);
	q->node = NULL;
	q->flow = NULL;
	q->bytes = q->packets = 0;
}

/* -- packets of a flow ---------------------------------------------------------------- */

/* Double the nodes. 0, or -1 at the limit or without memory. */
static int nodes_grow(struct nl_aqm *q)
{
	uint32_t nodes = q->nodes ? 2 * q->nodes : FIRST_NODES;
	struct nl_aqm_node *more;

	if (nodes > NL_AQM_PACKETS_MAX)
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

static int flow_append(struct nl_aqm *q, struct nl_aqm_flow *flow, const struct nl_aqm_packet *packet)
{
	uint32_t at = q->unused;

	if (at == NONE && nodes_grow(q))
		return -1;
	at = q->unused;
	q->unused = q->node[at].next;
	q->node[at] = (struct nl_aqm_node){*packet, NONE};
	if (flow->first == NONE)
		flow->first = at;
	else
		q->node[flow->last].next = at;
	flow->last = at;
	flow->packets++;
	flow->bytes += packet->weight_B;
	q->packets++;
	q->bytes += packet->weight_B;
	return 0;
}

static int flow_pop(struct nl_aqm *q, struct nl_aqm_flow *flow, struct nl_aqm_packet *packet)
{
	uint32_t at = flow->first;

	if (at == NONE)
		return 0;
	*packet = q->node[at].packet;
	flow->first = q->node[at].next;
	q->node[at].next = q->unused;
	q->unused = at;
	flow->packets--;
	flow->bytes -= packet->weight_B;
	q->packets--;
	q->bytes -= packet->weight_B;
	return 1;
}

/* -- CoDel: names and order of RFC 8289, section 5.5 ------------------------------------- */

static uint64_t square_root(uint64_t n)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= n)
			root |= bit;
	return root;
}

/* Time of the next drop: the interval over the square root of the drops so far. */
static uint64_t control_law(const struct nl_aqm *q, uint64_t t_ns, uint32_t count)
{
	return t_ns + square_root(q->opts.interval_ns * q->opts.interval_ns / count);
}

static int codel_pop(struct nl_aqm *q, struct nl_aqm_flow *flow, uint64_t now_ns,
		     struct nl_aqm_packet *packet, int *may_drop)
{
	struct nl_codel *c = &flow->codel;

	*may_drop = 0;
	if (!flow_pop(q, flow, packet)) {
		c->first_above_ns = 0;
		return 0;
	}
	if (now_ns - packet->arrived_ns < q->opts.target_ns || flow->bytes <= q->largest_B)
		c->first_above_ns = 0;
	else if (!c->first_above_ns)
		c->first_above_ns = now_ns + q->opts.interval_ns;
	else
		*may_drop = now_ns >= c->first_above_ns;
	return 1;
}

/* Mark a packet in place of dropping it. 0: it is to be dropped. */
static int mark_instead(const struct nl_aqm *q, struct nl_aqm_packet *packet)
{
	packet->marked = q->opts.ecn && packet->takes_marks;
	return packet->marked;
}

static int codel_take(struct nl_aqm *q, struct nl_aqm_flow *flow, uint64_t now_ns,
		      struct nl_aqm_packet *packet)
{
	struct nl_codel *c = &flow->codel;
	int may_drop, any = codel_pop(q, flow, now_ns, packet, &may_drop);
	uint32_t delta;

	if (c->dropping) {
		c->dropping = may_drop;
		while (c->dropping && now_ns >= c->drop_next_ns) {
			c->count++;
			if (mark_instead(q, packet)) {
				c->drop_next_ns = control_law(q, c->drop_next_ns, c->count);
				break;
			}
			q->dropped(q->context, packet, NL_DROP_EARLY);
			any = codel_pop(q, flow, now_ns, packet, &may_drop);
			c->dropping = may_drop;
			if (may_drop)
				c->drop_next_ns = control_law(q, c->drop_next_ns, c->count);
		}
	} else if (may_drop) {
		if (!mark_instead(q, packet)) {
			q->dropped(q->context, packet, NL_DROP_EARLY);
			any = codel_pop(q, flow, now_ns, packet, &may_drop);
		}
		c->dropping = 1;
		/* shortly after the last time begin near the rate of drops that controlled the queue */
		delta = c->count - c->last_count;
		c->count = delta > 1 && now_ns < c->drop_next_ns + 16 * q->opts.interval_ns ? delta : 1;
		c->drop_next_ns = control_law(q, now_ns, c->count);
		c->last_count = c->count;
	}
	return any;
}

/* -- FQ-CoDel: RFC 8290, section 4 ---------------------------------------------------------- */

static void list_append(struct nl_aqm *q, struct nl_aqm_list *list, uint32_t flow)
{
	q->flow[flow].next = NONE;
	if (list->first == NONE)
		list->first = flow;
	else
		q->flow[list->last].next = flow;
	list->last = flow;
}

static void list_pop(struct nl_aqm *q, struct nl_aqm_list *list)
{
	list->first = q->flow[list->first].next;
}

/* Drop half of the longest queue from its head, at most a batch. */
static void drop_from_longest(struct nl_aqm *q)
{
	struct nl_aqm_flow *longest = q->flow;
	struct nl_aqm_packet packet;
	uint64_t half_B;

	for (uint32_t i = 1; i < NL_AQM_FLOWS; i++)
		if (q->flow[i].bytes > longest->bytes)
			longest = &q->flow[i];
	half_B = longest->bytes / 2;
	for (int i = 0; i < BATCH && (!i || longest->bytes > half_B) && flow_pop(q, longest, &packet); i++)
		q->dropped(q->context, &packet, NL_DROP_LIMIT);
}

static int fq_take(struct nl_aqm *q, uint64_t now_ns, struct nl_aqm_packet *packet)
{
	for (;;) {
		struct nl_aqm_list *list = q->fresh.first != NONE ? &q->fresh : &q->old;
		uint32_t at = list->first;
		struct nl_aqm_flow *flow = &q->flow[at == NONE ? 0 : at];

		if (at == NONE)
			return 0;
		if (flow->deficit_B <= 0) {
			flow->deficit_B += QUANTUM_B;
			list_pop(q, list);
			list_append(q, &q->old, at);
			continue;
		}
		if (codel_take(q, flow, now_ns, packet)) {
			flow->deficit_B -= packet->weight_B;
			return 1;
		}
		list_pop(q, list);
		/* an empty new queue waits a turn, so that it cannot be new again at once */
		if (list == &q->fresh && q->old.first != NONE)
			list_append(q, &q->old, at);
		else
			flow->listed = 0;
	}
}

static int over_limit(const struct nl_aqm *q, uint64_t more_B, uint64_t more_packets)
{
	const struct nl_aqm_opts *o = &q->opts;

	return (o->limit_packets && q->packets + more_packets > o->limit_packets) ||
	       (o->limit_B && q->bytes + more_B > o->limit_B);
}

static void fq_put(struct nl_aqm *q, const struct nl_aqm_packet *packet)
{
	uint32_t at = packet->flow % NL_AQM_FLOWS;
	struct nl_aqm_flow *flow = &q->flow[at];

	if (flow_append(q, flow, packet)) {
		q->dropped(q->context, packet, NL_DROP_LIMIT);
		return;
	}
	if (!flow->listed) {
		flow->listed = 1;
		flow->deficit_B = QUANTUM_B;
		list_append(q, &q->fresh, at);
	}
	while (over_limit(q, 0, 0))
		drop_from_longest(q);
}

/* -- PIE: RFC 8033, appendix A ---------------------------------------------------------------- */

static void pie_update(struct nl_aqm *q)
{
	static const struct {
		double below, divisor;
	} scale[] = {{1e-6, 2048}, {1e-5, 512}, {1e-4, 128}, {1e-3, 32}, {1e-2, 8}, {1e-1, 2}};
	struct nl_pie *p = &q->pie;
	uint64_t delay_ns = q->packets ? p->delay_ns : 0;
	double delay_s = (double)delay_ns / NS_PER_S, old_s = (double)p->old_delay_ns / NS_PER_S;
	double step = 0.125 * (delay_s - (double)q->opts.target_ns / NS_PER_S) + 1.25 * (delay_s - old_s);

	for (size_t i = 0; i < sizeof(scale) / sizeof(scale[0]); i++)
		if (p->probability < scale[i].below) {
			step /= scale[i].divisor;
			break;
		}
	p->probability += step;
	if (!delay_ns && !p->old_delay_ns)
		p->probability *= 0.98;
	if (p->probability < 0)
		p->probability = 0;
	if (p->probability > 1)
		p->probability = 1;
	p->old_delay_ns = delay_ns;
	p->burst_ns = p->burst_ns > q->opts.interval_ns ? p->burst_ns - q->opts.interval_ns : 0;
}

/* Make the updates that are due. */
static void pie_until(struct nl_aqm *q, uint64_t now_ns)
{
	struct nl_pie *p = &q->pie;

	if (!p->update_ns)
		p->update_ns = now_ns + q->opts.interval_ns;
	while (p->update_ns <= now_ns) {
		pie_update(q);
		p->update_ns += q->opts.interval_ns;
		/* nothing changes any more */
		if (!q->packets && p->probability < 1e-9 && !p->burst_ns && !p->old_delay_ns &&
		    now_ns > p->update_ns) {
			p->probability = 0;
			p->update_ns += (now_ns - p->update_ns) / q->opts.interval_ns * q->opts.interval_ns;
		}
	}
}

static int pie_drops(struct nl_aqm *q)
{
	struct nl_pie *p = &q->pie;
	uint64_t half_ns = q->opts.target_ns / 2, delay_ns = q->packets ? p->delay_ns : 0;

	if (p->probability <= 0 && delay_ns < half_ns && p->old_delay_ns < half_ns)
		p->burst_ns = MAX_BURST_NS;
	if (p->burst_ns || (p->old_delay_ns < half_ns && p->probability < 0.2) || q->bytes <= 2 * q->largest_B)
		return 0;
	return (double)nl_prng_below(&q->random, NL_PPB) < p->probability * NL_PPB;
}

/* -- any discipline ----------------------------------------------------------------------------- */

void nl_aqm_put(struct nl_aqm *q, const struct nl_aqm_packet *arrived, uint64_t now_ns)
{
	struct nl_aqm_packet copy = *arrived, *packet = &copy;

	if (packet->weight_B > q->largest_B)
		q->largest_B = packet->weight_B;
	if (q->opts.discipline == NL_PIE)
		pie_until(q, now_ns);
	if (q->opts.discipline == NL_FQ_CODEL)
		fq_put(q, packet);
	else if (over_limit(q, packet->weight_B, 1))
		q->dropped(q->context, packet, NL_DROP_LIMIT);
	else if (q->opts.discipline == NL_PIE && pie_drops(q) &&
		 !(q->pie.probability <= PIE_MARKS_UP_TO && mark_instead(q, packet)))
		q->dropped(q->context, packet, NL_DROP_EARLY);
	else if (flow_append(q, q->flow, packet))
		q->dropped(q->context, packet, NL_DROP_LIMIT);
}

int nl_aqm_take(struct nl_aqm *q, struct nl_aqm_packet *packet, uint64_t now_ns)
{
	int any;

	if (q->opts.discipline == NL_FQ_CODEL)
		return fq_take(q, now_ns, packet);
	if (q->opts.discipline == NL_CODEL)
		return codel_take(q, q->flow, now_ns, packet);
	if (q->opts.discipline == NL_PIE)
		pie_until(q, now_ns);
	any = flow_pop(q, q->flow, packet);
	if (any)
		q->pie.delay_ns = now_ns - packet->arrived_ns;
	return any;
}
