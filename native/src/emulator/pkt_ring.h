/* store: packets in flight, in one bounded ring of memory.
 *
 * A block is written where nl_pkt_ring_room says, kept with a number of references, and
 * given back when the last one is released. Blocks may be released in any order; memory
 * comes back in the order of keeping. Memory is touched only as far as it is needed, and
 * an empty ring begins at its start again, so that a short path stays in the cache.
 * One thread at a time. */
#ifndef NL_PKT_RING_H
#define NL_PKT_RING_H

#include <stddef.h>
#include <stdint.h>

struct nl_pkt_ring {
	unsigned char *at;
	size_t cap_B, head_B, tail_B, used_B, max_used_B;
};

/* 0, or -1 with errno. */
int nl_pkt_ring_init(struct nl_pkt_ring *s, size_t cap_B);
void nl_pkt_ring_free(struct nl_pkt_ring *s);

/* Where want_B bytes may be written, aligned to 16, or NULL when there is no room.
 * Good until the next call. */
void *nl_pkt_ring_room(struct nl_pkt_ring *s, size_t want_B);
/* Keep the first len_B bytes of the last room, referenced refs > 0 times. */
void nl_pkt_ring_keep(struct nl_pkt_ring *s, size_t len_B, uint32_t refs);
/* Drop one reference to a block that nl_pkt_ring_room gave and nl_pkt_ring_keep kept. */
void nl_pkt_ring_release(struct nl_pkt_ring *s, void *block);

#endif
