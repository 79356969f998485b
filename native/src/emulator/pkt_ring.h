/* pkt_ring: packets in flight, in one ring of limited memory.
 *
 * Write a block to nl_pkt_ring_room, store it with a number of references, release each of them.
 * Blocks may be released in any order; memory is reused in the order of storing. An empty ring
 * restarts at its beginning, so that a short path touches little memory and stays in the cache. One
 * thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct nl_pkt_ring {
	unsigned char *at;
	size_t cap_B, head_B, tail_B, used_B, max_used_B;
};

/* 0, or -1 with errno. */
int nl_pkt_ring_init(struct nl_pkt_ring *s, size_t cap_B);
void nl_pkt_ring_free(struct nl_pkt_ring *s);

/* want_B bytes, aligned to 16, or NULL without room. Valid until the next call. */
void *nl_pkt_ring_room(struct nl_pkt_ring *s, size_t want_B);
/* Store the first len_B bytes of the last room, with refs > 0 references. */
void nl_pkt_ring_keep(struct nl_pkt_ring *s, size_t len_B, uint32_t refs);
/* Release one reference to a stored block. */
void nl_pkt_ring_release(struct nl_pkt_ring *s, void *block);
