/* stream: one data stream of a run, its counters and the engine that moves its bytes.
 *
 * A stream belongs to one thread between its start and its end. That thread alone
 * writes the counters; anyone may read them while it runs. They only grow. */
#ifndef NL_STREAM_H
#define NL_STREAM_H

#include "netlab.h"

#include <stdatomic.h>

enum { NL_CACHE_LINE_B = 64 };

struct nl_stream {
	_Alignas(NL_CACHE_LINE_B) _Atomic uint64_t bytes;
	_Atomic uint64_t calls;

	_Alignas(NL_CACHE_LINE_B) int fd;
	const atomic_int *quit; /* the run's: set when the time is up */
	uint8_t *buffer;        /* record_B bytes, or NULL when discarding */
	uint64_t record_B;
	uint64_t to_send; /* gen: exact bytes, UINT64_MAX for a timed run */
	uint64_t t_first_ns, t_end_ns;
	int stamped; /* t_last_ns is kept: a run whose length is what it measures */
	uint64_t t_last_ns; /* after the last call that moved bytes */
	int errnum;
};

/* How bytes are moved; chosen once per run. */
struct nl_engine {
	const char *name;
	/* Make ready before the start; touches the buffer. 0 or errno. */
	int (*prepare)(struct nl_stream *stream);
	/* Move bytes until the end of the stream or quit. 0 or errno. */
	int (*transfer)(struct nl_stream *stream);
	/* Close this side in good order and wait for the other's close. 0 or errno. */
	int (*finish)(struct nl_stream *stream);
};

extern const struct nl_engine nl_engine_send, nl_engine_receive, nl_engine_discard;

const struct nl_engine *nl_engine_of(const struct nl_run_opts *opts);

/* The counters have one writer: a plain load and store, no locked instruction. */
static inline void nl_stream_count(struct nl_stream *stream, uint64_t bytes)
{
	atomic_store_explicit(&stream->bytes,
			      atomic_load_explicit(&stream->bytes, memory_order_relaxed) + bytes,
			      memory_order_relaxed);
	atomic_store_explicit(&stream->calls,
			      atomic_load_explicit(&stream->calls, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (stream->stamped)
		stream->t_last_ns = nl_now_ns();
}

static inline uint64_t nl_stream_bytes(const struct nl_stream *stream)
{
	return atomic_load_explicit(&stream->bytes, memory_order_relaxed);
}

#endif
