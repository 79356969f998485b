#include "emulator/cake.h"

#include <stdlib.h>
#include <string.h>

enum { QUANTUM_LEAST_B = 300, QUANTUM_MOST_B = 1514, QUANTUMS_IN_S = 4096 };

#define NS_PER_S UINT64_C(1000000000)

struct nl_cake *nl_cake_new(uint64_t seed)
{
	struct nl_cake *cake = calloc(1, sizeof(*cake));

	if (!cake)
		return NULL;
	nl_flow_list_init(&cake->fresh);
	nl_flow_list_init(&cake->old);
	nl_flow_list_init(&cake->decaying);
	nl_prng_seed(&cake->random, seed);
	return cake;
}

void nl_cake_free(struct nl_cake *cake)
{
	free(cake);
}

static struct nl_cobalt_times times_of(const struct nl_cake_opts *opts)
{
	struct nl_cobalt_times times = {.target_ns = opts->target_ns, .interval_ns = opts->interval_ns};

	times.packet_ns = opts->rate_bps ? opts->largest_B * 8 * NS_PER_S / opts->rate_bps : 0;
	if (times.target_ns < times.packet_ns * 3 / 2)
		times.target_ns = times.packet_ns * 3 / 2;
	times.interval_ns += times.target_ns - opts->target_ns;
	if (times.interval_ns < 2 * times.target_ns)
		times.interval_ns = 2 * times.target_ns;
	return times;
}

/* A flow's turn. The remainder of the division is dealt at random, so that no flow loses by it. */
static int64_t quantum_of(struct nl_cake *cake, const struct nl_cake_opts *opts, const struct nl_cake_flow *flow)
{
	uint64_t quantum_B = opts->rate_bps / 8 / QUANTUMS_IN_S, flows = 1;

	if (quantum_B < QUANTUM_LEAST_B)
		quantum_B = QUANTUM_LEAST_B;
	if (quantum_B > QUANTUM_MOST_B)
		quantum_B = QUANTUM_MOST_B;
	for (int end = 0; end < 2; end++)
		if (cake->host[end][flow->host[end]].bulk > flows)
			flows = cake->host[end][flow->host[end]].bulk;
	return (int64_t)((quantum_B + nl_prng_below(&cake->random, flows)) / flows);
}

/* Change the state, and with it the numbers of its hosts. */
static void set_state(struct nl_cake *cake, struct nl_cake_flow *flow, enum nl_cake_state state)
{
	for (int end = 0; end < 2; end++) {
		struct nl_cake_host *host = &cake->host[end][flow->host[end]];

		host->bulk -= flow->state == NL_CAKE_BULK;
		host->bulk += state == NL_CAKE_BULK;
	}
	flow->state = state;
}

/* The i-th place of a hash: its own first, then the others of its set. */
static uint32_t way_of(uint32_t hash, uint32_t i)
{
	uint32_t own = hash % NL_CAKE_FLOWS, within = own % NL_CAKE_WAYS;

	return own - within + (within + i) % NL_CAKE_WAYS;
}

/* The entry of a host, or one that no flow counts on; its own if there is none. */
static uint32_t host_of(struct nl_cake_host host[NL_CAKE_FLOWS], uint32_t hash)
{
	uint32_t at = way_of(hash, 0);

	for (uint32_t i = 0; i < NL_CAKE_WAYS; i++)
		if (host[way_of(hash, i)].tag == hash)
			return way_of(hash, i);
	for (uint32_t i = NL_CAKE_WAYS; i-- > 0;)
		if (!host[way_of(hash, i)].bulk)
			at = way_of(hash, i);
	host[at].tag = hash;
	return at;
}

/* The queue of a packet's flow: the one that it has, else a free one of its set, else its own beside another flow. */
static uint32_t flow_of(struct nl_cake *cake, const struct nl_aqm_packet *packet)
{
	const uint32_t hash[2] = {packet->source, packet->destination};
	enum nl_cake_state state;
	struct nl_cake_flow *flow;
	uint32_t i, at;

	for (i = 0; i < NL_CAKE_WAYS; i++)
		if (cake->flow[way_of(packet->flow, i)].tag == packet->flow)
			break;
	at = way_of(packet->flow, i % NL_CAKE_WAYS);
	if (i < NL_CAKE_WAYS && cake->flow[at].state != NL_CAKE_IDLE)
		return at;
	for (i = i % NL_CAKE_WAYS; i < NL_CAKE_WAYS && cake->flow[way_of(packet->flow, i)].state != NL_CAKE_IDLE;)
		i++;
	at = way_of(packet->flow, i % NL_CAKE_WAYS);
	flow = &cake->flow[at];
	state = flow->state;
	set_state(cake, flow, NL_CAKE_IDLE); /* of the flow that had it */
	flow->tag = packet->flow;
	for (int end = 0; end < 2; end++)
		flow->host[end] = host_of(cake->host[end], hash[end]);
	set_state(cake, flow, state);
	return at;
}

int nl_cake_put(struct nl_cake *cake, struct nl_flow_queues *queues, const struct nl_cake_opts *opts,
		const struct nl_aqm_packet *packet)
{
	uint32_t at = flow_of(cake, packet);
	struct nl_cake_flow *flow = &cake->flow[at];

	if (nl_flow_queue_append(queues, at, packet))
		return -1;
	if (flow->state == NL_CAKE_IDLE || flow->state == NL_CAKE_DECAYING) {
		if (flow->state == NL_CAKE_DECAYING)
			nl_flow_list_remove(queues, &cake->decaying, at);
		nl_flow_list_append(queues, &cake->fresh, at);
		set_state(cake, flow, NL_CAKE_SPARSE);
		queues->flow[at].deficit_B = quantum_of(cake, opts, flow);
	} else if (flow->state == NL_CAKE_SPARSE_WAIT) {
		set_state(cake, flow, NL_CAKE_BULK);
	}
	return 0;
}

void nl_cake_prune(struct nl_cake *cake, struct nl_flow_queues *queues, const struct nl_cake_opts *opts,
		   uint64_t now_ns, struct nl_aqm_packet *packet)
{
	const struct nl_flow_list *lists[] = {&cake->fresh, &cake->old};
	const struct nl_cobalt_times times = times_of(opts);
	uint32_t longest = NL_FLOW_NONE;

	for (int i = 0; i < 2; i++)
		for (uint32_t at = lists[i]->first; at != NL_FLOW_NONE; at = queues->flow[at].next)
			if (longest == NL_FLOW_NONE || queues->flow[at].bytes > queues->flow[longest].bytes)
				longest = at;
	nl_flow_queue_pop(queues, longest, packet);
	nl_cobalt_overflow(&cake->flow[longest].cobalt, &times, now_ns);
}

/* Move an emptied flow out of the service. */
static void cake_retire(struct nl_cake *cake, struct nl_flow_queues *queues, struct nl_flow_list *list, uint32_t at,
		   const struct nl_cobalt_times *times, uint64_t now_ns)
{
	struct nl_cake_flow *flow = &cake->flow[at];

	nl_cobalt_empty(&flow->cobalt, times, now_ns);
	nl_flow_list_remove(queues, list, at);
	if (nl_cobalt_rests(&flow->cobalt, now_ns)) {
		set_state(cake, flow, NL_CAKE_IDLE);
		return;
	}
	set_state(cake, flow, NL_CAKE_DECAYING);
	nl_flow_list_append(queues, &cake->decaying, at);
}

int nl_cake_take(struct nl_cake *cake, struct nl_flow_queues *queues, const struct nl_cake_opts *opts, uint64_t now_ns,
		 struct nl_aqm_packet *packet)
{
	const struct nl_cobalt_times times = times_of(opts);

	/* one that decays, each time, so that all of them come to rest */
	if (queues->packets && !nl_flow_list_empty(&cake->decaying))
		cake_retire(cake, queues, &cake->decaying, cake->decaying.first, &times, now_ns);
	while (queues->packets) {
		struct nl_flow_list *list = nl_flow_list_empty(&cake->fresh) ? &cake->old : &cake->fresh;
		uint32_t at = list->first;
		struct nl_cake_flow *flow = &cake->flow[at];
		struct nl_flow_queue *queue = &queues->flow[at];

		if (queue->deficit_B <= 0) {
			if (flow->state == NL_CAKE_SPARSE)
				set_state(cake, flow, queue->packets ? NL_CAKE_BULK : NL_CAKE_SPARSE_WAIT);
			queue->deficit_B += quantum_of(cake, opts, flow);
			nl_flow_list_remove(queues, list, at);
			nl_flow_list_append(queues, &cake->old, at);
			continue;
		}
		if (!nl_flow_queue_pop(queues, at, packet)) {
			cake_retire(cake, queues, list, at, &times, now_ns);
			continue;
		}
		/* the last packet may be marked, and is never dropped */
		if (nl_cobalt_drops(&flow->cobalt, &times, now_ns, opts->ecn != 0, packet, &cake->random) &&
		    queue->packets)
			return -1;
		queue->deficit_B -= packet->weight_B;
		return 1;
	}
	return 0;
}
