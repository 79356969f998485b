/* zc_pending: outstanding MSG_ZEROCOPY completions. */
#ifndef NL_ZC_PENDING_H
#define NL_ZC_PENDING_H

#include "io/stream.h"

static inline int nl_zc_pending_any(const struct nl_stream *stream)
{
	return stream->zc_pending && stream->zc_pending->oldest != stream->zc_pending->next;
}

static inline int nl_zc_pending_full(const struct nl_stream *stream)
{
	return stream->zc_pending->next - stream->zc_pending->oldest == NL_ZC_PENDING_MAX;
}

/* The number of a new send. */
static inline uint32_t nl_zc_pending_begin(struct nl_stream *stream)
{
	uint32_t number = stream->zc_pending->next++;

	stream->zc_pending->slot[number % NL_ZC_PENDING_MAX] = 1;
	return number;
}

static inline void nl_zc_pending_sent(struct nl_stream *stream, uint32_t number, uint64_t bytes)
{
	stream->zc_pending->slot[number % NL_ZC_PENDING_MAX] = (uint32_t)bytes + 1;
}

/* Record the completion of a send. */
static inline void nl_zc_pending_done(struct nl_stream *stream, uint32_t number, int copied)
{
	struct nl_zc_pending *zc_pending = stream->zc_pending;
	uint32_t *slot = &zc_pending->slot[number % NL_ZC_PENDING_MAX];

	if (number - zc_pending->oldest >= zc_pending->next - zc_pending->oldest || *slot == 0)
		return;
	stream->completed_bytes += *slot - 1;
	if (copied)
		stream->copied_bytes += *slot - 1;
	*slot = 0;
	while (zc_pending->oldest != zc_pending->next &&
	       zc_pending->slot[zc_pending->oldest % NL_ZC_PENDING_MAX] == 0)
		zc_pending->oldest++;
}

#endif
