/* inflight: sends from user memory that the kernel has yet to say it is done with. */
#ifndef NL_INFLIGHT_H
#define NL_INFLIGHT_H

#include "io/stream.h"

static inline int nl_inflight_any(const struct nl_stream *stream)
{
	return stream->inflight && stream->inflight->oldest != stream->inflight->next;
}

static inline int nl_inflight_full(const struct nl_stream *stream)
{
	return stream->inflight->next - stream->inflight->oldest == NL_INFLIGHT_MAX;
}

/* The number of a send that begins now. */
static inline uint32_t nl_inflight_begin(struct nl_stream *stream)
{
	uint32_t number = stream->inflight->next++;

	stream->inflight->held[number % NL_INFLIGHT_MAX] = 1;
	return number;
}

static inline void nl_inflight_sent(struct nl_stream *stream, uint32_t number, uint64_t bytes)
{
	stream->inflight->held[number % NL_INFLIGHT_MAX] = (uint32_t)bytes + 1;
}

/* Bytes that were not even tried without a copy. */
static inline void nl_inflight_copied(struct nl_stream *stream, uint64_t bytes)
{
	stream->completed_bytes += bytes;
	stream->copied_bytes += bytes;
}

/* The kernel is done with it. */
static inline void nl_inflight_done(struct nl_stream *stream, uint32_t number, int copied)
{
	struct nl_inflight *inflight = stream->inflight;
	uint32_t *held = &inflight->held[number % NL_INFLIGHT_MAX];

	if (number - inflight->oldest >= inflight->next - inflight->oldest || *held == 0)
		return;
	stream->completed_bytes += *held - 1;
	if (copied)
		stream->copied_bytes += *held - 1;
	*held = 0;
	while (inflight->oldest != inflight->next &&
	       inflight->held[inflight->oldest % NL_INFLIGHT_MAX] == 0)
		inflight->oldest++;
}

#endif
