#include "emulator/aqm.h"

#include "emulator/control_law.h"

#include <stdlib.h>
#include <string.h>

enum { QUANTUM_B = 1514, BATCH = 64 };

#define MS UINT64_C(1000000)
#define MAX_BURST_NS (150 * MS)
#define PIE_MARKS_UP_TO 0.1 /* probability */
#define NS_PER_S 1e9

int nl_aqm_init(struct nl_aqm *q, const struct nl_aqm_opts *opts, nl_aqm_dropped *dropped, void *context)
{
	memset(q, 0, sizeof(*q));
	q->opts = *opts;
	q->dropped = dropped;
	q->context = context;
	nl_flow_list_init(&q->fresh);
	nl_flow_list_init(&q->old);
	q->pie.burst_ns = MAX_BURST_NS;
	nl_prng_seed(&q->random, opts->seed);
	q->of = calloc(NL_AQM_FLOWS, sizeof(*q->of));
	if (opts->discipline == NL_CAKE)
		q->cake = nl_cake_new(opts->seed);
	if (q->of && (q->cake || opts->discipline != NL_CAKE) && !nl_flow_queues_init(&q->flows, NL_AQM_FLOWS))
		return 0;
	nl_aqm_free(q);
	return -1;
}

void nl_aqm_free(struct nl_aqm *q)
{
	nl_flow_queues_free(&q->flows);
	nl_cake_free(q->cake);
	free(q->of);
	q->cake = NULL;
	q->of = NULL;
}

/* -- CoDel: names and order of RFC 8289, section 5.5 ------------------------------------- */

/* Time of the next drop. */
static uint64_t control_law(const struct nl_aqm *q, uint64_t t_ns, uint32_t count)
{
	return t_ns + nl_control_law_ns(q->opts.interval_ns, count);
}

static int codel_pop(struct nl_aqm *q, uint32_t flow, uint64_t now_ns, struct nl_aqm_packet *packet, int *may_drop)
{
	struct nl_codel *c = &q->of[flow].codel;

	*may_drop = 0;
	if (!nl_flow_queue_pop(&q->flows, flow, packet)) {
		c->first_above_ns = 0;
		return 0;
	}
	if (now_ns - packet->arrived_ns < q->opts.target_ns || q->flows.flow[flow].bytes <= q->largest_B)
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

static int codel_take(struct nl_aqm *q, uint32_t flow, uint64_t now_ns, struct nl_aqm_packet *packet)
{
	struct nl_codel *c = &q->of[flow].codel;
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

/* Drop half of the longest queue from its head, at most a batch. */
static void drop_from_longest(struct nl_aqm *q)
{
	const struct nl_flow_queue *flow = q->flows.flow;
	struct nl_aqm_packet packet;
	uint32_t longest = 0;
	uint64_t half_B;

	for (uint32_t i = 1; i < NL_AQM_FLOWS; i++)
		if (flow[i].bytes > flow[longest].bytes)
			longest = i;
	half_B = flow[longest].bytes / 2;
	for (int i = 0; i < BATCH && (!i || flow[longest].bytes > half_B) &&
			nl_flow_queue_pop(&q->flows, longest, &packet); i++)
		q->dropped(q->context, &packet, NL_DROP_LIMIT);
}

static int fq_take(struct nl_aqm *q, uint64_t now_ns, struct nl_aqm_packet *packet)
{
	for (;;) {
		struct nl_flow_list *list = nl_flow_list_empty(&q->fresh) ? &q->old : &q->fresh;
		uint32_t at = list->first;
		struct nl_flow_queue *flow = &q->flows.flow[at == NL_FLOW_NONE ? 0 : at];

		if (at == NL_FLOW_NONE)
			return 0;
		if (flow->deficit_B <= 0) {
			flow->deficit_B += QUANTUM_B;
			nl_flow_list_remove(&q->flows, list, at);
			nl_flow_list_append(&q->flows, &q->old, at);
			continue;
		}
		if (codel_take(q, at, now_ns, packet)) {
			flow->deficit_B -= packet->weight_B;
			return 1;
		}
		nl_flow_list_remove(&q->flows, list, at);
		/* an empty new queue waits a turn, so that it cannot be new again at once */
		if (list == &q->fresh && !nl_flow_list_empty(&q->old))
			nl_flow_list_append(&q->flows, &q->old, at);
		else
			q->of[at].listed = 0;
	}
}

static int over_limit(const struct nl_aqm *q, uint64_t more_B, uint64_t more_packets)
{
	const struct nl_aqm_opts *o = &q->opts;

	return (o->limit_packets && q->flows.packets + more_packets > o->limit_packets) ||
	       (o->limit_B && q->flows.bytes + more_B > o->limit_B);
}

static void fq_put(struct nl_aqm *q, const struct nl_aqm_packet *packet)
{
	uint32_t at = packet->flow % NL_AQM_FLOWS;

	if (nl_flow_queue_append(&q->flows, at, packet)) {
		q->dropped(q->context, packet, NL_DROP_LIMIT);
		return;
	}
	if (!q->of[at].listed) {
		q->of[at].listed = 1;
		q->flows.flow[at].deficit_B = QUANTUM_B;
		nl_flow_list_append(&q->flows, &q->fresh, at);
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
	uint64_t delay_ns = q->flows.packets ? p->delay_ns : 0;
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
		if (!q->flows.packets && p->probability < 1e-9 && !p->burst_ns && !p->old_delay_ns &&
		    now_ns > p->update_ns) {
			p->probability = 0;
			p->update_ns += (now_ns - p->update_ns) / q->opts.interval_ns * q->opts.interval_ns;
		}
	}
}

static int pie_drops(struct nl_aqm *q)
{
	struct nl_pie *p = &q->pie;
	uint64_t half_ns = q->opts.target_ns / 2, delay_ns = q->flows.packets ? p->delay_ns : 0;

	if (p->probability <= 0 && delay_ns < half_ns && p->old_delay_ns < half_ns)
		p->burst_ns = MAX_BURST_NS;
	if (p->burst_ns || (p->old_delay_ns < half_ns && p->probability < 0.2) || q->flows.bytes <= 2 * q->largest_B)
		return 0;
	return (double)nl_prng_below(&q->random, NL_PPB) < p->probability * NL_PPB;
}

/* -- CAKE ---------------------------------------------------------------------------------------- */

static struct nl_cake_opts cake_opts(const struct nl_aqm *q)
{
	return (struct nl_cake_opts){.rate_bps = q->opts.rate_bps, .target_ns = q->opts.target_ns,
				     .interval_ns = q->opts.interval_ns, .ecn = q->opts.ecn,
				     .largest_B = q->largest_B};
}

static void cake_put(struct nl_aqm *q, const struct nl_aqm_packet *packet, uint64_t now_ns)
{
	const struct nl_cake_opts opts = cake_opts(q);
	struct nl_aqm_packet pruned;

	if (nl_cake_put(q->cake, &q->flows, &opts, packet)) {
		q->dropped(q->context, packet, NL_DROP_LIMIT);
		return;
	}
	while (over_limit(q, 0, 0)) {
		nl_cake_prune(q->cake, &q->flows, &opts, now_ns, &pruned);
		q->dropped(q->context, &pruned, NL_DROP_LIMIT);
	}
}

static int cake_take(struct nl_aqm *q, uint64_t now_ns, struct nl_aqm_packet *packet)
{
	const struct nl_cake_opts opts = cake_opts(q);
	int taken;

	while ((taken = nl_cake_take(q->cake, &q->flows, &opts, now_ns, packet)) < 0)
		q->dropped(q->context, packet, NL_DROP_EARLY);
	return taken;
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
	else if (q->opts.discipline == NL_CAKE)
		cake_put(q, packet, now_ns);
	else if (over_limit(q, packet->weight_B, 1))
		q->dropped(q->context, packet, NL_DROP_LIMIT);
	else if (q->opts.discipline == NL_PIE && pie_drops(q) &&
		 !(q->pie.probability <= PIE_MARKS_UP_TO && mark_instead(q, packet)))
		q->dropped(q->context, packet, NL_DROP_EARLY);
	else if (nl_flow_queue_append(&q->flows, 0, packet))
		q->dropped(q->context, packet, NL_DROP_LIMIT);
}

int nl_aqm_take(struct nl_aqm *q, struct nl_aqm_packet *packet, uint64_t now_ns)
{
	int any;

	if (q->opts.discipline == NL_FQ_CODEL)
		return fq_take(q, now_ns, packet);
	if (q->opts.discipline == NL_CODEL)
		return codel_take(q, 0, now_ns, packet);
	if (q->opts.discipline == NL_CAKE)
		return cake_take(q, now_ns, packet);
	if (q->opts.discipline == NL_PIE)
		pie_until(q, now_ns);
	any = nl_flow_queue_pop(&q->flows, 0, packet);
	if (any)
		q->pie.delay_ns = now_ns - packet->arrived_ns;
	return any;
}
