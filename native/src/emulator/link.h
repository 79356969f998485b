/* link: one direction of an emulated path, as a clock-free model over packets.
 *
 * A packet is dropped, or waits in the queue, is transmitted at the rate, then takes the delay. In
 * this order:
 *
 *	forced drop -> random loss -> tail drop -> rate -> delay, jitter, reorder
 *
 * A trace replaces the rate by opportunities (trace.h), which pass unused if nothing waits; rate_bps is then
 * their mean, for memory alone.
 *
 * A bucket of tokens, filled at the rate, lets packets pass at once; others wait for tokens, or are
 * dropped by a policer.
 *
 * Every segment of a super-packet is a packet here: counted, dropped and transmitted by itself.
 * Adjacent segments leave together as a piece, at the end of the last one's transmission, never
 * early. A piece is at most NL_LINK_PIECE_NS of transmission, or 1 / NL_LINK_PIECE_PART of the
 * delay if that is more.
 *
 * TCP of some ports takes a delay of its own, after the same queue and rate; each delay keeps its order.
 *
 * Under a discipline (aqm.h) packets wait in a queue of their own until the link is free, in place of
 * the tail drop, and the discipline decides then. Its decisions are those of the moment at which the link
 * becomes free, however late the caller asks. With ecn it marks segments, each by itself: a piece has segments of one kind.
 *
 * The caller reads a frame into nl_link_room, passes its arrival time, and writes pieces when they
 * are due. Memory is limited at nl_link_open. One thread at a time. */
#pragma once

#include "emulator/aqm.h"
#include "emulator/fifo.h"
#include "emulator/pkt_ring.h"
#include "base/prng.h"
#include "emulator/superpacket.h"
#include "emulator/trace.h"

#include <stdint.h>

/* Forced drops of chosen packets, each exactly once.
 *
 * Only packets with data count. Two plans run side by side: numbers, counted from the request, and
 * a moment, relative to the first data packet after the request, so that a late run has its loss
 * late as well. A new plan replaces the old one of its kind. Clock-free; one thread at a time. */
enum { NL_DROP_PLAN_MAX = 16 };

struct nl_drop_plan {
	uint64_t at[NL_DROP_PLAN_MAX]; /* ascending, from 1 */
	uint32_t count, next;
	uint64_t seen;
	int timed;         /* a moment is set and has not passed */
	uint64_t after_ns; /* since the first data packet */
	uint64_t first_ns; /* time of that packet; 0: not yet */
	uint64_t last_ns;  /* time of the last drop; 0: none */
};

/* Drop the packets at[0 .. count - 1], ascending from 1, count at most NL_DROP_PLAN_MAX. */
void nl_drop_plan_numbers(struct nl_drop_plan *s, const uint64_t *at, uint32_t count);
void nl_drop_plan_moment(struct nl_drop_plan *s, uint64_t after_ns);

/* Cancel both plans. */
void nl_drop_plan_forget(struct nl_drop_plan *s);

/* TCP packets from or to a port of a range have this delay in place of the link's. */
enum { NL_FLOW_DELAYS_MAX = 8 };

struct nl_flow_delay {
	uint64_t first_port, last_port;
	uint64_t delay_ns;
};

enum {
	NL_LINK_PIECE_NS = 100000,
	NL_LINK_PIECE_PART = 400,
	NL_LINK_OVERHEAD_B = 14, /* of Ethernet, as tbf counts a frame */
};

struct nl_link_opts {
	uint64_t rate_bps;   /* of IP packets with overhead_B each; 0: unlimited */
	const struct nl_trace *trace; /* in place of the rate; NULL: none. The caller's, as long as the link */
	uint64_t overhead_B; /* bytes of a packet on the link beyond its IP bytes */
	uint64_t delay_ns;
	uint64_t jitter_ns;     /* uniform within +- this; the delay is never below 0 */
	uint64_t queue_B;       /* tail drop above this many queued bytes; 0: no limit */
	uint64_t queue_packets; /* the same in packets; includes those in transmission */
	uint64_t mark_above_B;  /* a packet that meets more queued bytes is marked (ECN); 0: none */
	uint64_t burst_B;       /* bucket of tokens; 0: none, packets leave at the rate */
	uint64_t policer;       /* drop packets without tokens; needs a bucket */
	uint64_t loss_ppb, reorder_ppb;
	/* Gilbert and Elliott: a bad state with a loss of its own; loss_ppb is that of the good one */
	uint64_t enter_bad_ppb, leave_bad_ppb, bad_loss_ppb; /* per packet */
	uint64_t reorder_ns; /* additional delay of a reordered packet */
	uint64_t seed;
	uint64_t discipline;               /* enum nl_discipline; needs a rate */
	uint64_t target_ns, interval_ns; /* of the discipline */
	uint64_t ecn;                    /* the discipline marks in place of early drops */
	struct nl_flow_delay flow[NL_FLOW_DELAYS_MAX];
	uint64_t flows;             /* of these */
	uint64_t flow_delay_max_ns; /* the longest that will be set, for memory alone */
};

struct nl_link_count {
	uint64_t reads, packets, data_packets, bytes;     /* arrivals; IP bytes */
	uint64_t out_writes, out_packets, out_bytes;      /* delivered */
	uint64_t passed_packets, passed_bytes;            /* of these to another link; the caller's */
	uint64_t datagrams, out_datagrams;                /* packets of UDP */
	uint64_t dropped_queue, dropped_loss, dropped_forced, dropped_policer; /* packets */
	uint64_t dropped_early; /* by the discipline, below the limits of the queue */
	uint64_t dropped_memory, dropped_malformed, dropped_refused;
	uint64_t reordered, marked;
	uint64_t max_queue_B, max_queue_packets;
};

/* Adjacent segments of one block that leave together. */
struct nl_piece {
	unsigned char *block;
	uint64_t depart_ns;
	uint32_t first, count;
	int marked; /* by the discipline */
};

struct nl_link {
	struct nl_link_opts opts;
	struct nl_link_count count;
	struct nl_prng loss, jitter, reorder, bursts;
	int bad; /* the state of loss */
	struct nl_pkt_ring ring;
	/* of struct nl_piece: in the order of the link's delay and of each flow's, and reordered ones */
	struct nl_fifo in_order[1 + NL_FLOW_DELAYS_MAX], late;
	int orders; /* in use so far */
	struct nl_fifo waiting;    /* of struct served: not yet transmitted */
	uint64_t waiting_packets;
	uint64_t unsent_packets; /* admitted and not yet sent */
	uint64_t free_ns, free_remainder; /* end of transmission; remainder of the division */
	uint64_t trace_ns;                /* begin of the trace */
	uint64_t opportunity, left_B;     /* of the trace: the one used last, and its bytes left */
	uint64_t last_ns[1 + NL_FLOW_DELAYS_MAX]; /* departure of the last piece in order */
	struct nl_drop_plan drop_plan;
	struct nl_aqm queue;
	uint64_t filled_ns; /* arrival of the first packet at an empty queue */
};

/* Memory for a link with these options: twice the bytes in flight and queued, plus room for bursts;
 * an unlimited rate counts as 10 Gb/s. At most NL_LINK_MEMORY_MAX_B. */
#define NL_LINK_MEMORY_MAX_B (UINT64_C(1) << 30)
uint64_t nl_link_memory_B(const struct nl_link_opts *opts);

/* Begin the trace of opportunities anew; without one nothing changes. */
void nl_link_begin_trace(struct nl_link *link, uint64_t now_ns);

/* 0, or -1 with errno. */
int nl_link_open(struct nl_link *link, const struct nl_link_opts *opts, uint64_t memory_B);
void nl_link_close(struct nl_link *link);

/* Change the options while running. Packets in flight keep their departure; the random sequences
 * continue unless the seed changed. */
void nl_link_set(struct nl_link *link, const struct nl_link_opts *opts);

/* NL_FRAME_MAX_B bytes for the next frame, or NULL: no memory. */
uint8_t *nl_link_room(struct nl_link *link);
/* Add the frame written there. */
void nl_link_arrive(struct nl_link *link, uint64_t now_ns, size_t len);
/* Count a frame for which there was no room. */
void nl_link_overflow(struct nl_link *link, const uint8_t *frame, size_t len);

/* Transmit what a discipline lets go by now. Call it before what is due is asked for. */
void nl_link_serve(struct nl_link *link, uint64_t now_ns);

/* Packets dropped so far, all reasons. */
uint64_t nl_link_dropped(const struct nl_link *link);

/* Departure of the next piece, or the time to call nl_link_serve again; UINT64_MAX if there is none. */
uint64_t nl_link_next_ns(const struct nl_link *link);
/* The next piece, or NULL. */
const struct nl_piece *nl_link_first(const struct nl_link *link);
/* The parts of a piece for writev; returns their number. head is the caller's. */
int nl_link_parts(const struct nl_piece *piece, uint8_t *head, struct iovec iov[2]);
/* Remove the piece, after it was written or refused by the device. */
void nl_link_sent(struct nl_link *link, int refused);

/* The queue: bytes including overhead_B, and packets. */
void nl_link_queue(struct nl_link *link, uint64_t now_ns, uint64_t *bytes, uint64_t *packets);
