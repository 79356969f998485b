#include "emulator/pkt_ring.h"

#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 16 };

struct block {
	uint64_t size_B; /* including this head, a multiple of ALIGN */
	uint32_t refs, unused;
};

_Static_assert(sizeof(struct block) == ALIGN, "blocks stay aligned");

static size_t whole_pages_B(size_t len_B)
{
	return (sizeof(struct block) + len_B + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

int nl_pkt_ring_init(struct nl_pkt_ring *s, size_t cap_B)
{
	memset(s, 0, sizeof(*s));
	cap_B &= ~(size_t)(ALIGN - 1);
	s->at = mmap(NULL, cap_B, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->at == MAP_FAILED) {
		s->at = NULL;
		return -1;
	}
	s->cap_B = cap_B;
	return 0;
}

void nl_pkt_ring_free(struct nl_pkt_ring *s)
{
	if (s->at)
		munmap(s->at, s->cap_B);
	memset(s, 0, sizeof(*s));
}

static void put_block(struct nl_pkt_ring *s, size_t size_B, uint32_t refs)
{
	struct block *b = (struct block *)(void *)(s->at + s->head_B);

	b->size_B = size_B;
	b->refs = refs;
	s->head_B += size_B;
	if (s->head_B == s->cap_B)
		s->head_B = 0;
	s->used_B += size_B;
	if (s->used_B > s->max_used_B)
		s->max_used_B = s->used_B;
}

void *nl_pkt_ring_room(struct nl_pkt_ring *s, size_t want_B)
{
	size_t need_B = whole_pages_B(want_B);

	if (!s->used_B)
		s->head_B = s->tail_B = 0;
	if (s->used_B && s->head_B <= s->tail_B) {
		if (s->tail_B - s->head_B < need_B)
			return NULL;
	} else if (s->cap_B - s->head_B < need_B) {
		if (s->tail_B < need_B)
			return NULL;
		put_block(s, s->cap_B - s->head_B, 0); /* leave the rest of the ring empty */
	}
	return s->at + s->head_B + sizeof(struct block);
}

void nl_pkt_ring_keep(struct nl_pkt_ring *s, size_t len_B, uint32_t refs)
{
	put_block(s, whole_pages_B(len_B), refs);
}

void nl_pkt_ring_release(struct nl_pkt_ring *s, void *block)
{
	struct block *b = (struct block *)(void *)((unsigned char *)block - sizeof(struct block));

	b->refs--;
	while (s->used_B) {
		b = (struct block *)(void *)(s->at + s->tail_B);
		if (b->refs)
			return;
		s->used_B -= b->size_B;
		s->tail_B += b->size_B;
		if (s->tail_B == s->cap_B)
			s->tail_B = 0;
	}
}
