#include "emulator/lane.h"

#include <string.h>

enum { HEAD_B = 32, PIECES_MAX = 1 << 20, BURST_B = 16 << 20 };

#define NS_PER_S UINT64_C(1000000000)
#define ASSUMED_BPS UINT64_C(10000000000)

/* A piece on the link: its packets are sent one after the other and are through at end_ns. */
struct served {
	uint64_t end_ns, packet_ns;
	uint64_t packets;
};

_Static_assert(sizeof(struct nl_superpacket) <= HEAD_B, "a block opens with its superpacket");

static const struct nl_superpacket *superpacket_of(const struct nl_piece *piece)
{
	return (const struct nl_superpacket *)(const void *)piece->block;
}

/* -- life ---------------------------------------------------------------------------- */

uint64_t nl_lane_memory_B(const struct nl_lane_opts *opts)
{
	uint64_t rate_bps = opts->rate_bps ? opts->rate_bps : ASSUMED_BPS, us, flying;

	us = (opts->delay_ns + opts->jitter_ns + opts->reorder_ns) / 1000 + 1;
	if (us > NL_LANE_MEMORY_MAX_B / (rate_bps / 8000000 + 1))
		return NL_LANE_MEMORY_MAX_B;
	flying = us * (rate_bps / 8000000 + 1) + opts->queue_B + opts->queue_packets * 1500;
	return flying > NL_LANE_MEMORY_MAX_B / 2 - BURST_B ? NL_LANE_MEMORY_MAX_B
							    : 2 * flying + BURST_B;
}

static void seed(struct nl_lane *lane)
{
	/* a generator each, so that a loss is the same whether or not there is jitter */
	nl_draw_seed(&lane->loss, lane->opts.seed);
	nl_draw_seed(&lane->jitter, lane->opts.seed + (UINT64_C(1) << 62));
	nl_draw_seed(&lane->reorder, lane->opts.seed + (UINT64_C(2) << 62));
}

int nl_lane_open(struct nl_lane *lane, const struct nl_lane_opts *opts, uint64_t memory_B)
{
	memset(lane, 0, sizeof(*lane));
	lane->opts = *opts;
	seed(lane);
	nl_fifo_init(&lane->kept, sizeof(struct nl_piece), PIECES_MAX);
	nl_fifo_init(&lane->late, sizeof(struct nl_piece), PIECES_MAX);
	nl_fifo_init(&lane->waiting, sizeof(struct served), PIECES_MAX);
	return nl_store_init(&lane->store, memory_B);
}

void nl_lane_close(struct nl_lane *lane)
{
	nl_fifo_free(&lane->kept);
	nl_fifo_free(&lane->late);
	nl_fifo_free(&lane->waiting);
	nl_store_free(&lane->store);
}

void nl_lane_set(struct nl_lane *lane, const struct nl_lane_opts *opts)
{
	int reseed = opts->seed != lane->opts.seed;

	lane->opts = *opts;
	if (reseed)
		seed(lane);
}

/* -- the link and its queue ---------------------------------------------------------- */

/* Forget what the link has sent by now. */
static void serve_until(struct nl_lane *lane, uint64_t now_ns)
{
	struct served *s;

	while ((s = nl_fifo_first(&lane->waiting))) {
		uint64_t left = 0;

		if (s->end_ns > now_ns) {
			left = s->packet_ns ? (s->end_ns - now_ns + s->packet_ns - 1) / s->packet_ns : 1;
			if (left >= s->packets)
				return;
			lane->waiting_packets -= s->packets - left;
			s->packets = left;
			return;
		}
		lane->waiting_packets -= s->packets;
		nl_fifo_pop(&lane->waiting);
	}
}

static uint64_t waiting_B(const struct nl_lane *lane, uint64_t now_ns)
{
	uint64_t ns;

	if (!lane->opts.rate_bps || lane->free_ns <= now_ns)
		return 0;
	ns = lane->free_ns - now_ns;
	/* seconds apart, so that no product leaves 64 bits */
	return ns / NS_PER_S * (lane->opts.rate_bps / 8) +
	       ns % NS_PER_S * (lane->opts.rate_bps / 1000) / 8000000;
}

void nl_lane_queue(struct nl_lane *lane, uint64_t now_ns, uint64_t *bytes, uint64_t *packets)
{
	serve_until(lane, now_ns);
	*bytes = waiting_B(lane, now_ns);
	*packets = lane->waiting_packets;
}

/* Send so many bytes over the link: when they are through, and how long that takes. */
static uint64_t send_ns(struct nl_lane *lane, uint64_t now_ns, uint64_t bytes)
{
	uint64_t begin_ns = lane->free_ns, units;

	if (!lane->opts.rate_bps)
		return now_ns;
	if (begin_ns < now_ns) {
		begin_ns = now_ns;
		lane->free_rest = 0;
	}
	units = bytes * 8 * NS_PER_S + lane->free_rest;
	lane->free_ns = begin_ns + units / lane->opts.rate_bps;
	lane->free_rest = units % lane->opts.rate_bps;
	return lane->free_ns;
}

/* -- arrival ------------------------------------------------------------------------- */

enum fate { PASSES, DROPPED_SCRIPTED, DROPPED_LOSS, DROPPED_QUEUE };

static enum fate fate_of(struct nl_lane *lane, uint64_t now_ns, uint64_t weight_B, int data,
			 uint64_t unwritten_packets)
{
	const struct nl_lane_opts *o = &lane->opts;

	if (data && nl_script_drops(&lane->script, now_ns))
		return DROPPED_SCRIPTED;
	if (nl_draw_happens(&lane->loss, o->loss_ppb))
		return DROPPED_LOSS;
	if (o->rate_bps) {
		uint64_t packets = lane->waiting_packets + unwritten_packets;

		if (o->queue_packets && packets >= o->queue_packets)
			return DROPPED_QUEUE;
		if (o->queue_B && waiting_B(lane, now_ns) + weight_B > o->queue_B)
			return DROPPED_QUEUE;
	}
	return PASSES;
}

/* A run of segments on their way to become a piece. */
struct run {
	uint32_t first, count;
	uint64_t begin_ns, end_ns;
};

static uint64_t jittered(struct nl_lane *lane)
{
	const struct nl_lane_opts *o = &lane->opts;
	uint64_t delay_ns = o->delay_ns + nl_draw_below(&lane->jitter, 2 * o->jitter_ns + 1);

	return delay_ns > o->jitter_ns ? delay_ns - o->jitter_ns : 0;
}

/* Make the run a piece; room in the queues is the caller's business. */
static void launch(struct nl_lane *lane, unsigned char *block, const struct run *run, int overtaken)
{
	const struct nl_lane_opts *o = &lane->opts;
	struct nl_piece piece = {.block = block, .first = run->first, .count = run->count};
	struct served served = {.end_ns = run->end_ns, .packets = run->count};
	uint64_t delay_ns = o->jitter_ns ? jittered(lane) : o->delay_ns;

	piece.depart_ns = run->end_ns + delay_ns;
	if (piece.depart_ns < lane->last_ns)
		piece.depart_ns = lane->last_ns;
	lane->last_ns = piece.depart_ns;
	if (overtaken) {
		piece.depart_ns += o->reorder_ns;
		lane->count.reordered++;
	}
	nl_fifo_push(overtaken ? &lane->late : &lane->kept, &piece);
	lane->stored_packets += run->count;
	if (o->rate_bps) {
		served.packet_ns = (run->end_ns - run->begin_ns) / run->count;
		nl_fifo_push(&lane->waiting, &served);
		lane->waiting_packets += run->count;
	}
}

static uint64_t piece_ns(const struct nl_lane_opts *o)
{
	uint64_t part_ns = o->delay_ns / NL_LANE_PIECE_PART;

	return part_ns > NL_LANE_PIECE_NS ? part_ns : NL_LANE_PIECE_NS;
}

/* Decide on every segment; the number of pieces made. */
static uint32_t admit(struct nl_lane *lane, uint64_t now_ns, const struct nl_superpacket *sp,
		      unsigned char *block)
{
	uint64_t *const dropped[] = {NULL, &lane->count.dropped_scripted,
				     &lane->count.dropped_loss, &lane->count.dropped_queue};
	struct run run = {0};
	uint32_t pieces = 0;

	for (uint32_t i = 0; i < sp->segments; i++) {
		uint64_t weight_B = nl_superpacket_segment_B(sp, i) + lane->opts.overhead_B, begin_ns;
		enum fate fate = fate_of(lane, now_ns, weight_B, sp->data, run.count);
		int overtaken;

		if (fate != PASSES)
			++*dropped[fate];
		if (run.count && (fate != PASSES || lane->opts.jitter_ns ||
				  run.end_ns - run.begin_ns >= piece_ns(&lane->opts))) {
			launch(lane, block, &run, 0);
			pieces++;
			run.count = 0;
		}
		if (fate != PASSES)
			continue;
		overtaken = nl_draw_happens(&lane->reorder, lane->opts.reorder_ppb);
		if (overtaken && run.count) {
			launch(lane, block, &run, 0);
			pieces++;
			run.count = 0;
		}
		begin_ns = lane->free_ns > now_ns ? lane->free_ns : now_ns;
		if (!run.count)
			run = (struct run){.first = i, .begin_ns = begin_ns};
		run.count++;
		run.end_ns = send_ns(lane, now_ns, weight_B);
		if (overtaken) {
			launch(lane, block, &run, 1);
			pieces++;
			run.count = 0;
		}
	}
	if (run.count) {
		launch(lane, block, &run, 0);
		pieces++;
	}
	return pieces;
}

static int read_frame(struct nl_lane *lane, struct nl_superpacket *sp, const uint8_t *frame,
		      size_t len)
{
	struct nl_lane_count *c = &lane->count;

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
	return 0;
}

uint8_t *nl_lane_room(struct nl_lane *lane)
{
	unsigned char *block = nl_store_room(&lane->store, HEAD_B + NL_FRAME_MAX_B);

	return block ? block + HEAD_B : NULL;
}

void nl_lane_arrive(struct nl_lane *lane, uint64_t now_ns, size_t len)
{
	/* the same place: nothing was kept since nl_lane_room */
	unsigned char *block = nl_store_room(&lane->store, HEAD_B + NL_FRAME_MAX_B);
	struct nl_superpacket sp;
	uint64_t bytes, packets;
	uint32_t pieces;

	if (read_frame(lane, &sp, block + HEAD_B, len))
		return;
	nl_lane_queue(lane, now_ns, &bytes, &packets);
	if (nl_fifo_reserve(&lane->kept, sp.segments) || nl_fifo_reserve(&lane->late, sp.segments) ||
	    nl_fifo_reserve(&lane->waiting, sp.segments)) {
		lane->count.dropped_memory += sp.segments;
		return;
	}
	memcpy(block, &sp, sizeof(sp));
	pieces = admit(lane, now_ns, &sp, block);
	if (!pieces)
		return;
	nl_store_keep(&lane->store, HEAD_B + len, pieces);
	nl_lane_queue(lane, now_ns, &bytes, &packets);
	if (bytes > lane->count.max_queue_B)
		lane->count.max_queue_B = bytes;
	if (packets > lane->count.max_queue_packets)
		lane->count.max_queue_packets = packets;
}

void nl_lane_overflow(struct nl_lane *lane, const uint8_t *frame, size_t len)
{
	struct nl_superpacket sp;

	if (read_frame(lane, &sp, frame, len) == 0)
		lane->count.dropped_memory += sp.segments;
}

uint64_t nl_lane_dropped(const struct nl_lane *lane)
{
	const struct nl_lane_count *c = &lane->count;

	return c->dropped_queue + c->dropped_loss + c->dropped_scripted + c->dropped_memory +
	       c->dropped_malformed + c->dropped_refused;
}

/* -- departure ----------------------------------------------------------------------- */

static const struct nl_fifo *first_fifo(const struct nl_lane *lane)
{
	const struct nl_piece *kept = nl_fifo_first(&lane->kept), *late = nl_fifo_first(&lane->late);

	if (!kept || !late)
		return kept ? &lane->kept : late ? &lane->late : NULL;
	return late->depart_ns < kept->depart_ns ? &lane->late : &lane->kept;
}

const struct nl_piece *nl_lane_first(const struct nl_lane *lane)
{
	const struct nl_fifo *fifo = first_fifo(lane);

	return fifo ? nl_fifo_first(fifo) : NULL;
}

uint64_t nl_lane_next_ns(const struct nl_lane *lane)
{
	const struct nl_piece *piece = nl_lane_first(lane);

	return piece ? piece->depart_ns : UINT64_MAX;
}

int nl_lane_parts(const struct nl_piece *piece, uint8_t *head, struct iovec iov[2])
{
	return nl_superpacket_piece(superpacket_of(piece), piece->block + HEAD_B, piece->first,
				    piece->count, head, iov);
}

void nl_lane_sent(struct nl_lane *lane, int refused)
{
	struct nl_fifo *fifo = first_fifo(lane) == &lane->late ? &lane->late : &lane->kept;
	const struct nl_piece piece = *(const struct nl_piece *)nl_fifo_first(fifo);
	const struct nl_superpacket *sp = superpacket_of(&piece);

	if (refused) {
		lane->count.dropped_refused += piece.count;
	} else {
		lane->count.out_writes++;
		lane->count.out_packets += piece.count;
		for (uint32_t i = 0; i < piece.count; i++)
			lane->count.out_bytes += nl_superpacket_segment_B(sp, piece.first + i);
	}
	lane->stored_packets -= piece.count;
	nl_fifo_pop(fifo);
	nl_store_release(&lane->store, piece.block);
}
