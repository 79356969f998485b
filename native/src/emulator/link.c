#include "emulator/link.h"

#include "base/clock.h"

#include <string.h>

enum { HEAD_B = 32, PIECES_MAX = 1 << 20, BURST_B = 16 << 20 };

#define ASSUMED_BPS UINT64_C(10000000000)

/* A piece in transmission: its packets are sent one after the other until end_ns. */
struct served {
	uint64_t end_ns, packet_ns;
	uint64_t packets;
};

_Static_assert(sizeof(struct nl_superpacket) <= HEAD_B, "a block opens with its superpacket");

static const struct nl_superpacket *superpacket_of(const struct nl_piece *piece)
{
	return (const struct nl_superpacket *)(const void *)piece->block;
}

/* -- start and end ----------------------------------------------------------------- */

uint64_t nl_link_memory_B(const struct nl_link_opts *opts)
{
	uint64_t rate_bps = opts->rate_bps ? opts->rate_bps : ASSUMED_BPS, us, flying;

	us = opts->delay_ns > opts->flow_delay_max_ns ? opts->delay_ns : opts->flow_delay_max_ns;
	us = (us + opts->jitter_ns + opts->reorder_ns) / 1000 + 1;
	if (us > NL_LINK_MEMORY_MAX_B / (rate_bps / 8000000 + 1))
		return NL_LINK_MEMORY_MAX_B;
	flying = us * (rate_bps / 8000000 + 1) + opts->queue_B + opts->queue_packets * 1500 + opts->burst_B;
	return flying > NL_LINK_MEMORY_MAX_B / 2 - BURST_B ? NL_LINK_MEMORY_MAX_B
							    : 2 * flying + BURST_B;
}

static void link_seed(struct nl_link *link)
{
	/* one generator each, so that losses are the same with and without jitter */
	nl_prng_seed(&link->loss, link->opts.seed);
	nl_prng_seed(&link->jitter, link->opts.seed + (UINT64_C(1) << 62));
	nl_prng_seed(&link->reorder, link->opts.seed + (UINT64_C(2) << 62));
	nl_prng_seed(&link->bursts, link->opts.seed + (UINT64_C(3) << 62));
}

static struct nl_aqm_opts aqm_opts(const struct nl_link_opts *opts)
{
	return (struct nl_aqm_opts){.discipline = opts->discipline, .target_ns = opts->target_ns,
				    .interval_ns = opts->interval_ns, .limit_B = opts->queue_B,
				    .limit_packets = opts->queue_packets, .ecn = opts->ecn, .rate_bps = opts->rate_bps,
				    .seed = opts->seed + (UINT64_C(1) << 61)};
}

static void dropped_by_queue(void *context, const struct nl_aqm_packet *packet, enum nl_aqm_drop why)
{
	struct nl_link *link = context;

	++*(why == NL_DROP_EARLY ? &link->count.dropped_early : &link->count.dropped_queue);
	link->unsent_packets--;
	nl_pkt_ring_release(&link->ring, packet->block);
}

int nl_link_open(struct nl_link *link, const struct nl_link_opts *opts, uint64_t memory_B)
{
	struct nl_aqm_opts queue = aqm_opts(opts);

	memset(link, 0, sizeof(*link));
	link->opts = *opts;
	link->orders = 1 + (int)opts->flows;
	link_seed(link);
	link->left_B = NL_TRACE_B;
	for (int i = 0; i <= NL_FLOW_DELAYS_MAX; i++)
		nl_fifo_init(&link->in_order[i], sizeof(struct nl_piece), PIECES_MAX);
	nl_fifo_init(&link->late, sizeof(struct nl_piece), PIECES_MAX);
	nl_fifo_init(&link->waiting, sizeof(struct served), PIECES_MAX);
	if (opts->discipline && nl_aqm_init(&link->queue, &queue, dropped_by_queue, link))
		return -1;
	return nl_pkt_ring_init(&link->ring, memory_B);
}

void nl_link_close(struct nl_link *link)
{
	for (int i = 0; i <= NL_FLOW_DELAYS_MAX; i++)
		nl_fifo_free(&link->in_order[i]);
	nl_fifo_free(&link->late);
	nl_fifo_free(&link->waiting);
	nl_aqm_free(&link->queue);
	nl_pkt_ring_free(&link->ring);
}

void nl_link_set(struct nl_link *link, const struct nl_link_opts *opts)
{
	int reseed = opts->seed != link->opts.seed;

	link->opts = *opts;
	if (link->orders <= (int)opts->flows)
		link->orders = 1 + (int)opts->flows;
	link->queue.opts = aqm_opts(opts);
	if (reseed)
		link_seed(link);
	if (!opts->enter_bad_ppb)
		link->bad = 0;
}

/* -- the link and its queue ---------------------------------------------------------- */

/* Bytes that the rate transmits in a time. */
static uint64_t bytes_in(const struct nl_link *link, uint64_t ns)
{
	/* whole seconds separately, so that no product exceeds 64 bits */
	return ns / NL_NS_PER_S * (link->opts.rate_bps / 8) +
	       ns % NL_NS_PER_S * (link->opts.rate_bps / 1000) / 8000000;
}

/* Time by which packets leave ahead of the rate: what a full bucket lets pass at once. */
static uint64_t burst_ns(const struct nl_link *link)
{
	return link->opts.burst_B ? link->opts.burst_B * 8 * NL_NS_PER_S / link->opts.rate_bps : 0;
}

/* End of the transmission of what is queued; before now if nothing is. */
static uint64_t busy_until_ns(const struct nl_link *link)
{
	uint64_t ahead_ns = burst_ns(link);

	return link->free_ns > ahead_ns ? link->free_ns - ahead_ns : 0;
}

/* Remove pieces whose transmission has ended. */
static void serve_until(struct nl_link *link, uint64_t now_ns)
{
	struct served *s;

	while ((s = nl_fifo_first(&link->waiting))) {
		uint64_t left = 0;

		if (s->end_ns > now_ns) {
			left = s->packet_ns ? (s->end_ns - now_ns + s->packet_ns - 1) / s->packet_ns : 1;
			if (left >= s->packets)
				return;
			link->waiting_packets -= s->packets - left;
			s->packets = left;
			return;
		}
		link->waiting_packets -= s->packets;
		nl_fifo_pop(&link->waiting);
	}
}

static uint64_t waiting_B(const struct nl_link *link, uint64_t now_ns)
{
	uint64_t until_ns = link->opts.rate_bps ? busy_until_ns(link) : 0;

	if (link->opts.trace && until_ns > now_ns) {
		uint64_t next = nl_trace_from(link->opts.trace, now_ns + 1 - link->trace_ns);

		return (link->opportunity + 1 - next) * NL_TRACE_B - link->left_B;
	}
	return until_ns > now_ns ? bytes_in(link, until_ns - now_ns) : 0;
}

/* Bytes that may pass at once. */
static uint64_t tokens_B(const struct nl_link *link, uint64_t now_ns)
{
	uint64_t full_ns = burst_ns(link);

	if (link->free_ns <= now_ns)
		return link->opts.burst_B;
	return link->free_ns - now_ns < full_ns ? bytes_in(link, full_ns - (link->free_ns - now_ns)) : 0;
}

void nl_link_queue(struct nl_link *link, uint64_t now_ns, uint64_t *bytes, uint64_t *packets)
{
	if (link->opts.discipline) {
		nl_link_serve(link, now_ns);
		*bytes = link->queue.flows.bytes;
		*packets = link->queue.flows.packets;
		return;
	}
	serve_until(link, now_ns);
	*bytes = waiting_B(link, now_ns);
	*packets = link->waiting_packets;
}

void nl_link_begin_trace(struct nl_link *link, uint64_t now_ns)
{
	if (!link->opts.trace)
		return;
	link->trace_ns = now_ns;
	/* what waits of before has its time */
	link->opportunity = link->free_ns > now_ns ? nl_trace_from(link->opts.trace, link->free_ns - now_ns) : 0;
	link->left_B = NL_TRACE_B;
}

/* Transmit bytes in the next opportunities, in what is left of the one used last if it is not over. */
static uint64_t send_by_trace_ns(struct nl_link *link, uint64_t now_ns, uint64_t bytes)
{
	const struct nl_trace *trace = link->opts.trace;
	uint64_t since_ns = now_ns - link->trace_ns;

	if (nl_trace_ns(trace, link->opportunity) < since_ns) {
		link->opportunity = nl_trace_from(trace, since_ns);
		link->left_B = NL_TRACE_B;
	}
	for (; bytes > link->left_B; link->left_B = NL_TRACE_B) {
		bytes -= link->left_B;
		link->opportunity++;
	}
	link->left_B -= bytes;
	link->free_ns = link->trace_ns + nl_trace_ns(trace, link->opportunity);
	return link->free_ns;
}

/* Transmit bytes; returns the time of their end, now_ns if they pass at once. */
static uint64_t send_ns(struct nl_link *link, uint64_t now_ns, uint64_t bytes)
{
	uint64_t begin_ns = link->free_ns, units;

	if (!link->opts.rate_bps)
		return now_ns;
	if (link->opts.trace)
		return send_by_trace_ns(link, now_ns, bytes);
	if (begin_ns < now_ns) {
		begin_ns = now_ns;
		link->free_remainder = 0;
	}
	units = bytes * 8 * NL_NS_PER_S + link->free_remainder;
	link->free_ns = begin_ns + units / link->opts.rate_bps;
	link->free_remainder = units % link->opts.rate_bps;
	begin_ns = busy_until_ns(link);
	return begin_ns > now_ns ? begin_ns : now_ns;
}

/* -- forced drops ------------------------------------------------------------------ */

void nl_drop_plan_numbers(struct nl_drop_plan *s, const uint64_t *at, uint32_t count)
{
	memcpy(s->at, at, count * sizeof(*at));
	s->count = count;
	s->next = 0;
	s->seen = 0;
}

void nl_drop_plan_moment(struct nl_drop_plan *s, uint64_t after_ns)
{
	s->timed = 1;
	s->after_ns = after_ns;
	s->first_ns = 0;
}

void nl_drop_plan_forget(struct nl_drop_plan *s)
{
	s->count = s->next = 0;
	s->timed = 0;
}

static int is_next_number(struct nl_drop_plan *s)
{
	if (s->next == s->count || ++s->seen != s->at[s->next])
		return 0;
	s->next++;
	return 1;
}

static int moment_has_come(struct nl_drop_plan *s, uint64_t now_ns)
{
	if (!s->timed)
		return 0;
	if (!s->first_ns)
		s->first_ns = now_ns;
	if (now_ns - s->first_ns < s->after_ns)
		return 0;
	s->timed = 0;
	return 1;
}

/* True if the data packet that arrives now is to be dropped. */
static int is_planned_drop(struct nl_drop_plan *s, uint64_t now_ns)
{
	int drops = is_next_number(s) || moment_has_come(s, now_ns);

	if (drops)
		s->last_ns = now_ns;
	return drops;
}

/* -- random loss ------------------------------------------------------------------- */

/* True if the packet is lost. Its loss is that of the state that it finds; it may change it for the
 * next one. */
static int is_lost(struct nl_link *link)
{
	const struct nl_link_opts *o = &link->opts;
	int lost = nl_prng_happens(&link->loss, link->bad ? o->bad_loss_ppb : o->loss_ppb);

	if (nl_prng_happens(&link->bursts, link->bad ? o->leave_bad_ppb : o->enter_bad_ppb))
		link->bad = !link->bad;
	return lost;
}

/* -- arrival ------------------------------------------------------------------------- */

enum verdict { PASSES, DROPPED_SCRIPTED, DROPPED_LOSS, DROPPED_QUEUE, DROPPED_POLICER };

static enum verdict verdict_of(struct nl_link *link, uint64_t now_ns, uint64_t weight_B, int data,
			       uint64_t unwritten_packets)
{
	const struct nl_link_opts *o = &link->opts;

	if (data && is_planned_drop(&link->drop_plan, now_ns))
		return DROPPED_SCRIPTED;
	if (is_lost(link))
		return DROPPED_LOSS;
	if (o->rate_bps) {
		uint64_t packets = link->waiting_packets + unwritten_packets, tokens = 0;

		if (o->burst_B)
			tokens = tokens_B(link, now_ns);
		if (tokens >= weight_B)
			return PASSES;
		if (o->policer)
			return DROPPED_POLICER;
		if (o->queue_packets && packets >= o->queue_packets)
			return DROPPED_QUEUE;
		if (o->queue_B && waiting_B(link, now_ns) + weight_B - tokens > o->queue_B)
			return DROPPED_QUEUE;
	}
	return PASSES;
}

/* -- delays of flows ----------------------------------------------------------------- */

/* 0, or 1 + the number of the delay that a packet's flow has of its own. */
static uint8_t flow_delay_of(const struct nl_link_opts *o, const struct nl_superpacket *sp, const uint8_t *frame)
{
	uint16_t port[2];

	if (!o->flows || !nl_superpacket_tcp_ports(sp, frame, port))
		return 0;
	for (uint8_t i = 0; i < o->flows; i++)
		for (int end = 0; end < 2; end++)
			if (port[end] >= o->flow[i].first_port && port[end] <= o->flow[i].last_port)
				return (uint8_t)(i + 1);
	return 0;
}

/* Fewer delays may have been set since the packet came. */
static uint64_t delay_of(const struct nl_link *link, int of_flow)
{
	return of_flow && (uint64_t)of_flow <= link->opts.flows ? link->opts.flow[of_flow - 1].delay_ns
								 : link->opts.delay_ns;
}

static uint64_t least_delay_ns(const struct nl_link *link)
{
	uint64_t least_ns = link->opts.delay_ns;

	for (int i = 1; (uint64_t)i <= link->opts.flows; i++)
		if (delay_of(link, i) < least_ns)
			least_ns = delay_of(link, i);
	return least_ns;
}

/* A run of adjacent segments that will become a piece. */
struct run {
	uint32_t first, count;
	int marked;
	uint64_t begin_ns, end_ns;
};

/* Make the run a piece, and begin another; the caller has reserved room in the queues. The number of
 * pieces: none of an empty run. */
static uint32_t make_piece(struct nl_link *link, unsigned char *block, struct run *run, int overtaken)
{
	const struct nl_link_opts *o = &link->opts;
	struct nl_piece piece = {.block = block, .first = run->first, .count = run->count, .marked = run->marked};
	struct served served = {.end_ns = run->end_ns, .packets = run->count};
	uint64_t *last_ns;
	uint64_t delay_ns;
	int of_flow;

	if (!run->count)
		return 0;
	of_flow = superpacket_of(&piece)->flow_delay;
	last_ns = &link->last_ns[of_flow];
	delay_ns = delay_of(link, of_flow);
	if (o->jitter_ns) {
		delay_ns += nl_prng_below(&link->jitter, 2 * o->jitter_ns + 1);
		delay_ns = delay_ns > o->jitter_ns ? delay_ns - o->jitter_ns : 0;
	}
	piece.depart_ns = run->end_ns + delay_ns;
	if (piece.depart_ns < *last_ns)
		piece.depart_ns = *last_ns;
	*last_ns = piece.depart_ns;
	if (overtaken) {
		piece.depart_ns += o->reorder_ns;
		link->count.reordered++;
	}
	nl_fifo_push(overtaken ? &link->late : &link->in_order[of_flow], &piece);
	if (o->discipline) { /* the packets are counted, and the block is held, since they arrived */
		run->count = 0;
		return 1;
	}
	link->unsent_packets += run->count;
	if (run->end_ns > run->begin_ns) { /* does not pass at once */
		/* in one opportunity all leave at its time */
		served.packet_ns = o->trace ? 1 : (run->end_ns - run->begin_ns) / run->count;
		nl_fifo_push(&link->waiting, &served);
		link->waiting_packets += run->count;
	}
	run->count = 0;
	return 1;
}

/* -- the queue of a discipline --------------------------------------------------------- */

/* Time at which the next packet of the queue is transmitted. */
static uint64_t serves_next_ns(const struct nl_link *link)
{
	uint64_t free_ns = busy_until_ns(link);

	return free_ns > link->filled_ns ? free_ns : link->filled_ns;
}

static uint64_t piece_max_ns(const struct nl_link *link)
{
	uint64_t piece_ns = least_delay_ns(link) / NL_LINK_PIECE_PART;

	return piece_ns < NL_LINK_PIECE_NS ? NL_LINK_PIECE_NS : piece_ns;
}

/* True if a packet may leave with those before it: not if it waits for another opportunity. */
static int leaves_with(const struct nl_link *link, const struct run *run, uint64_t end_ns)
{
	return !link->opts.trace || !run->count || run->end_ns == end_ns;
}

/* The discipline chooses the flow afterwards. */
static int reserve_in_order(struct nl_link *link, size_t pieces)
{
	for (int i = 0; i < link->orders; i++)
		if (nl_fifo_reserve(&link->in_order[i], pieces))
			return -1;
	return 0;
}

void nl_link_serve(struct nl_link *link, uint64_t now_ns)
{
	unsigned char *block = NULL;
	struct nl_aqm_packet packet;
	struct run run = {0};

	while (link->queue.flows.packets && serves_next_ns(link) <= now_ns) {
		uint64_t begin_ns = serves_next_ns(link);
		uint64_t end_ns;
		int follows, overtaken;

		if (reserve_in_order(link, 2) || nl_fifo_reserve(&link->late, 1) ||
		    !nl_aqm_take(&link->queue, &packet, begin_ns))
			break;
		overtaken = nl_prng_happens(&link->reorder, link->opts.reorder_ppb);
		end_ns = send_ns(link, begin_ns, packet.weight_B);
		if (nl_superpacket_ecn(packet.block + HEAD_B) == NL_ECN_CE)
			packet.marked = 0; /* another link has marked it */
		follows = packet.block == block && packet.segment == run.first + run.count && !overtaken &&
			  !link->opts.jitter_ns && run.end_ns - run.begin_ns < piece_max_ns(link) &&
			  packet.marked == run.marked &&
			  leaves_with(link, &run, end_ns);
		if (run.count && follows) {
			nl_pkt_ring_release(&link->ring, block); /* the piece holds it once */
		} else {
			make_piece(link, block, &run, 0);
			block = packet.block;
			run = (struct run){.first = packet.segment, .begin_ns = begin_ns, .marked = packet.marked};
		}
		run.count++;
		run.end_ns = end_ns;
		link->count.marked += packet.marked;
		if (overtaken)
			make_piece(link, block, &run, 1);
	}
	make_piece(link, block, &run, 0);
}

/* Queue the segments that are not dropped before; the block is held once for each of them. */
static void put_in_queue(struct nl_link *link, uint64_t now_ns, const struct nl_superpacket *sp,
			 unsigned char *block, size_t len)
{
	struct nl_aqm_packet packet = {.block = block, .arrived_ns = now_ns,
				       .flow = nl_superpacket_flow(sp, block + HEAD_B, link->opts.seed),
				       .takes_marks = nl_superpacket_ecn(block + HEAD_B) != 0};

	nl_superpacket_hosts(sp, block + HEAD_B, link->opts.seed, &packet.source, &packet.destination);
	nl_pkt_ring_keep(&link->ring, HEAD_B + len, sp->segments + 1);
	link->unsent_packets += sp->segments;
	if (!link->queue.flows.packets)
		link->filled_ns = now_ns;
	for (uint32_t i = 0; i < sp->segments; i++) {
		uint64_t *counter = NULL;

		packet.segment = i;
		packet.weight_B = (uint32_t)(nl_superpacket_segment_B(sp, i) + link->opts.overhead_B);
		if (sp->data && is_planned_drop(&link->drop_plan, now_ns))
			counter = &link->count.dropped_forced;
		else if (is_lost(link))
			counter = &link->count.dropped_loss;
		if (counter) {
			++*counter;
			link->unsent_packets--;
			nl_pkt_ring_release(&link->ring, block);
		} else {
			nl_aqm_put(&link->queue, &packet, now_ns);
		}
	}
	nl_pkt_ring_release(&link->ring, block);
	nl_link_serve(link, now_ns);
}

/* -- arrival of a frame ---------------------------------------------------------------- */

/* Decide on every segment; returns the number of pieces made. */
static uint32_t link_admit(struct nl_link *link, uint64_t now_ns, const struct nl_superpacket *sp,
			   unsigned char *block)
{
	uint64_t *const dropped[] = {NULL, &link->count.dropped_forced,
				     &link->count.dropped_loss, &link->count.dropped_queue,
				     &link->count.dropped_policer};
	uint64_t piece_ns = piece_max_ns(link);
	struct run run = {0};
	uint32_t pieces = 0;

	for (uint32_t i = 0; i < sp->segments; i++) {
		uint64_t weight_B = nl_superpacket_segment_B(sp, i) + link->opts.overhead_B, begin_ns, end_ns;
		uint64_t unwritten = run.end_ns > now_ns ? run.count : 0;
		enum verdict verdict = verdict_of(link, now_ns, weight_B, sp->data, unwritten);
		int overtaken;

		if (verdict != PASSES)
			++*dropped[verdict];
		if (verdict != PASSES || link->opts.jitter_ns || run.end_ns - run.begin_ns >= piece_ns)
			pieces += make_piece(link, block, &run, 0);
		if (verdict != PASSES)
			continue;
		overtaken = nl_prng_happens(&link->reorder, link->opts.reorder_ppb);
		if (overtaken)
			pieces += make_piece(link, block, &run, 0);
		begin_ns = !link->opts.trace && busy_until_ns(link) > now_ns ? busy_until_ns(link) : now_ns;
		end_ns = send_ns(link, now_ns, weight_B);
		/* what passes at once and what waits are pieces of their own */
		if ((run.end_ns <= now_ns && end_ns > now_ns) || !leaves_with(link, &run, end_ns))
			pieces += make_piece(link, block, &run, 0);
		if (!run.count)
			run = (struct run){.first = i, .begin_ns = begin_ns};
		run.count++;
		run.end_ns = end_ns;
		if (overtaken)
			pieces += make_piece(link, block, &run, 1);
	}
	return pieces + make_piece(link, block, &run, 0);
}

static int read_frame(struct nl_link *link, struct nl_superpacket *sp, const uint8_t *frame,
		      size_t len)
{
	struct nl_link_count *c = &link->count;

	c->reads++;
	if (nl_superpacket_read(sp, frame, len) != NL_SUPERPACKET_OK) {
		c->packets++;
		c->bytes += len > NL_VNET_B ? len - NL_VNET_B : 0;
		c->dropped_malformed++;
		return -1;
	}
	c->packets += sp->segments;
	c->bytes += sp->ip_B + (uint64_t)(sp->segments - 1) * sp->head_B;
	if (sp->data)
		c->data_packets += sp->segments;
	c->datagrams += sp->udp;
	return 0;
}

/* Update the maxima of the queue. */
static void note_queue(struct nl_link *link, uint64_t now_ns)
{
	uint64_t bytes, packets;

	nl_link_queue(link, now_ns, &bytes, &packets);
	if (bytes > link->count.max_queue_B)
		link->count.max_queue_B = bytes;
	if (packets > link->count.max_queue_packets)
		link->count.max_queue_packets = packets;
}

uint8_t *nl_link_room(struct nl_link *link)
{
	unsigned char *block = nl_pkt_ring_room(&link->ring, HEAD_B + NL_FRAME_MAX_B);

	return block ? block + HEAD_B : NULL;
}

void nl_link_arrive(struct nl_link *link, uint64_t now_ns, size_t len)
{
	/* the same block as from nl_link_room */
	unsigned char *block = nl_pkt_ring_room(&link->ring, HEAD_B + NL_FRAME_MAX_B);
	struct nl_superpacket sp;
	uint64_t bytes, packets, dropped;
	uint32_t pieces;
	int marked;

	if (read_frame(link, &sp, block + HEAD_B, len))
		return;
	sp.flow_delay = flow_delay_of(&link->opts, &sp, block + HEAD_B);
	nl_link_queue(link, now_ns, &bytes, &packets);
	if (nl_fifo_reserve(&link->in_order[sp.flow_delay], sp.segments) ||
	    nl_fifo_reserve(&link->late, sp.segments) ||
	    nl_fifo_reserve(&link->waiting, sp.segments)) {
		link->count.dropped_memory += sp.segments;
		return;
	}
	memcpy(block, &sp, sizeof(sp));
	if (link->opts.discipline) {
		put_in_queue(link, now_ns, &sp, block, len);
		note_queue(link, now_ns);
		return;
	}
	marked = link->opts.mark_above_B && bytes > link->opts.mark_above_B && nl_superpacket_mark(block + HEAD_B);
	dropped = nl_link_dropped(link);
	pieces = link_admit(link, now_ns, &sp, block);
	if (marked)
		link->count.marked += sp.segments - (nl_link_dropped(link) - dropped);
	if (!pieces)
		return;
	nl_pkt_ring_keep(&link->ring, HEAD_B + len, pieces);
	note_queue(link, now_ns);
}

void nl_link_overflow(struct nl_link *link, const uint8_t *frame, size_t len)
{
	struct nl_superpacket sp;

	if (read_frame(link, &sp, frame, len) == 0)
		link->count.dropped_memory += sp.segments;
}

uint64_t nl_link_dropped(const struct nl_link *link)
{
	const struct nl_link_count *c = &link->count;

	return c->dropped_queue + c->dropped_loss + c->dropped_forced + c->dropped_memory +
	       c->dropped_malformed + c->dropped_refused + c->dropped_policer +
	       c->dropped_early;
}

/* -- departure ----------------------------------------------------------------------- */

/* The queue of the piece that departs first: of an order, or, as link->orders, of reordered ones; -1: none. */
static int first_queue(const struct nl_link *link)
{
	uint64_t least_ns = UINT64_MAX;
	int first = -1;

	for (int i = 0; i <= link->orders; i++) {
		const struct nl_piece *piece =
			nl_fifo_first(i < link->orders ? &link->in_order[i] : &link->late);

		if (piece && piece->depart_ns < least_ns) {
			least_ns = piece->depart_ns;
			first = i;
		}
	}
	return first;
}

const struct nl_piece *nl_link_first(const struct nl_link *link)
{
	int first = first_queue(link);

	return first < 0 ? NULL : nl_fifo_first(first < link->orders ? &link->in_order[first] : &link->late);
}

uint64_t nl_link_next_ns(const struct nl_link *link)
{
	const struct nl_piece *piece = nl_link_first(link);
	uint64_t depart_ns = piece ? piece->depart_ns : UINT64_MAX, served_ns, delay_ns;

	if (!link->queue.flows.packets)
		return depart_ns;
	/* nothing of the queue departs before this */
	delay_ns = least_delay_ns(link);
	delay_ns = delay_ns > link->opts.jitter_ns ? delay_ns - link->opts.jitter_ns : 0;
	served_ns = serves_next_ns(link) + delay_ns;
	return served_ns < depart_ns ? served_ns : depart_ns;
}

int nl_link_parts(const struct nl_piece *piece, uint8_t *head, struct iovec iov[2])
{
	int parts = nl_superpacket_piece(superpacket_of(piece), piece->block + HEAD_B, piece->first,
					 piece->count, head, iov);

	/* two parts have a head of their own; one is a whole frame, which no other piece has */
	if (piece->marked)
		nl_superpacket_mark(parts == 2 ? head : piece->block + HEAD_B);
	return parts;
}

void nl_link_sent(struct nl_link *link, int refused)
{
	int first = first_queue(link);
	struct nl_fifo *fifo = first < link->orders ? &link->in_order[first] : &link->late;
	const struct nl_piece piece = *(const struct nl_piece *)nl_fifo_first(fifo);
	const struct nl_superpacket *sp = superpacket_of(&piece);

	if (refused) {
		link->count.dropped_refused += piece.count;
	} else {
		link->count.out_writes++;
		link->count.out_packets += piece.count;
		link->count.out_datagrams += sp->udp;
		for (uint32_t i = 0; i < piece.count; i++)
			link->count.out_bytes += nl_superpacket_segment_B(sp, piece.first + i);
	}
	link->unsent_packets -= piece.count;
	nl_fifo_pop(fifo);
	nl_pkt_ring_release(&link->ring, piece.block);
}
