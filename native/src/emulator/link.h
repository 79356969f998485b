/* link: one direction of an emulated path, as a clock-free model over packets.
 *
 * A packet that arrives is lost, or refused by a full queue, or waits its turn on a link
 * of a rate, then takes the delay. In this order:
 *
 *	scripted drop -> random loss -> tail drop -> rate -> delay, jitter, reorder
 *
 * Every segment of a super-packet is a packet here: it is counted, dropped and sent by
 * itself. Segments that follow each other leave together when the last of them has come
 * through, never early: a piece ends when it has taken NL_LINK_PIECE_NS of link time, or a
 * NL_LINK_PIECE_PART of the delay if that is more.
 *
 * The caller reads a frame into nl_link_room, says when it arrived, and later takes pieces
 * when they are due. Memory is bounded at nl_link_open. One thread at a time. */
#ifndef NL_LINK_H
#define NL_LINK_H

#include "emulator/drop_plan.h"
#include "emulator/fifo.h"
#include "emulator/pkt_ring.h"
#include "emulator/prng.h"
#include "emulator/superpacket.h"

enum {
	NL_LINK_PIECE_NS = 100000,
	NL_LINK_PIECE_PART = 400,
	NL_LINK_OVERHEAD_B = 14, /* of Ethernet: tbf counts a frame so */
};

struct nl_link_opts {
	uint64_t rate_bps;   /* of IP packets with overhead_B each; 0: unlimited */
	uint64_t overhead_B; /* what a packet weighs on the link beyond its IP bytes */
	uint64_t delay_ns;
	uint64_t jitter_ns;     /* the delay is uniform within +- this, never below 0 */
	uint64_t queue_B;       /* tail drop above so many waiting bytes; 0: no such limit */
	uint64_t queue_packets; /* or packets; what is being sent counts as waiting */
	uint64_t loss_ppb, reorder_ppb;
	uint64_t reorder_ns; /* how much longer a reordered packet takes */
	uint64_t seed;
};

struct nl_link_count {
	uint64_t reads, packets, data_packets, bytes;     /* that arrived; IP bytes */
	uint64_t out_writes, out_packets, out_bytes;      /* that were delivered */
	uint64_t dropped_queue, dropped_loss, dropped_scripted; /* packets */
	uint64_t dropped_memory, dropped_malformed, dropped_refused;
	uint64_t reordered;
	uint64_t max_queue_B, max_queue_packets;
};

/* Segments of one block that leave together. */
struct nl_piece {
	unsigned char *block;
	uint64_t depart_ns;
	uint32_t first, count;
};

struct nl_link {
	struct nl_link_opts opts;
	struct nl_link_count count;
	struct nl_prng loss, jitter, reorder;
	struct nl_pkt_ring ring;
	struct nl_fifo in_order, late; /* struct nl_piece: in order, and the overtaken ones */
	struct nl_fifo waiting;    /* struct served: what the link has not sent yet */
	uint64_t waiting_packets;
	uint64_t unsent_packets; /* admitted and not yet sent */
	uint64_t free_ns, free_remainder; /* when the link is free; rest of the division */
	uint64_t last_ns;            /* departure of the last piece in order */
	struct nl_drop_plan drop_plan;
};

/* Memory for a link of these options: what is in flight and queued, twice, with room for
 * bursts; an unlimited rate is taken as 10 Gb/s. At most NL_LINK_MEMORY_MAX_B. */
#define NL_LINK_MEMORY_MAX_B (UINT64_C(1) << 30)
uint64_t nl_link_memory_B(const struct nl_link_opts *opts);

/* 0, or -1 with errno. */
int nl_link_open(struct nl_link *link, const struct nl_link_opts *opts, uint64_t memory_B);
void nl_link_close(struct nl_link *link);

/* Change the options on the way; what is in flight keeps its time, decisions go on from
 * the same seed unless it changed. */
void nl_link_set(struct nl_link *link, const struct nl_link_opts *opts);

/* Where NL_FRAME_MAX_B bytes of the next frame may be written, or NULL: no memory. */
uint8_t *nl_link_room(struct nl_link *link);
/* The frame written there arrived. */
void nl_link_arrive(struct nl_link *link, uint64_t now_ns, size_t len);
/* A frame for which there was no room arrived. */
void nl_link_overflow(struct nl_link *link, const uint8_t *frame, size_t len);

/* Packets dropped so far, for whatever reason. */
uint64_t nl_link_dropped(const struct nl_link *link);

/* When the next piece is due, UINT64_MAX when there is none. */
uint64_t nl_link_next_ns(const struct nl_link *link);
/* The piece due first. Only when there is one. */
const struct nl_piece *nl_link_first(const struct nl_link *link);
/* That piece as parts to write; returns their number. head is the caller's. */
int nl_link_parts(const struct nl_piece *piece, uint8_t *head, struct iovec iov[2]);
/* That piece is written, or was refused by the device. */
void nl_link_sent(struct nl_link *link, int refused);

/* What waits for the link now: bytes with overhead_B, and packets. */
void nl_link_queue(struct nl_link *link, uint64_t now_ns, uint64_t *bytes, uint64_t *packets);

#endif
