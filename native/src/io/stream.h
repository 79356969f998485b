/* stream: one data stream of a run and its counters.
 *
 * A stream belongs to one thread from its start to its end. Only that thread writes the counters;
 * any thread may read them. They only grow. */
#pragma once

#include "io/sequence.h"
#include "netlab.h"

#include <stdatomic.h>

enum { NL_CACHE_LINE_B = 64 };

/* Limit of pending MSG_ZEROCOPY completions per stream. */
enum { NL_ZC_PENDING_MAX = 1024 };

struct nl_zc_pending {
	uint32_t oldest, next;        /* the kernel's numbers of sends; they wrap */
	uint32_t slot[NL_ZC_PENDING_MAX]; /* bytes + 1 of a send; 0: completed */
};

/* The datagrams of a stream of a UDP run, beside its TCP connection. */
struct nl_flow {
	int fd;        /* connected; -1: none yet */
	uint16_t port; /* sink: of the gen's socket, from its hello */
	struct nl_sequence sequence;
	struct nl_jitter jitter;
	/* Sink: what has not arrived by then is lost; 0: the gen still sends. It moves by the silence with each
	 * arrival. Gen: the end of the wait for the kernel to send. */
	uint64_t quiet_ns, silence_ns;
};

/* Fill the fields of a UDP run at its end. */
void nl_flow_describe(const struct nl_flow *flow, const struct nl_run_opts *opts, struct nl_stream_report *out);

enum nl_phase { NL_MOVING, NL_CLOSING, NL_ENDED };

struct nl_stream {
	_Alignas(NL_CACHE_LINE_B) _Atomic uint64_t bytes;
	_Atomic uint64_t calls;

	_Alignas(NL_CACHE_LINE_B) int fd;
	int errnum;
	enum nl_phase phase;
	int throttled; /* epoll: wait for a completion before the next send */
	uint32_t id;
	const atomic_int *quit; /* the run's: set when the time is up */
	uint64_t left;          /* gen: bytes still to send, UINT64_MAX for a timed run */
	uint64_t start_ns, end_ns; /* planned, set before the release; 0: those of the run */
	int waits;                 /* epoll: for its planned start */
	uint64_t t_first_ns, t_end_ns;
	int stamped; /* record t_last_ns: a run without window_ms */
	uint64_t t_last_ns; /* time of the last call that moved bytes */
	struct nl_zc_pending *zc_pending; /* zero-copy sends only */
	uint64_t completed_bytes, copied_bytes; /* zero-copy sends; of these copied */
	uint64_t mapped_bytes;                  /* zero-copy receives: mapped, not copied */
	struct nl_flow *flow; /* its datagrams in a UDP run; else NULL */
};

/* The socket of the payload. */
static inline int nl_stream_data_fd(const struct nl_stream *stream)
{
	return stream->flow ? stream->flow->fd : stream->fd;
}

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

static inline uint64_t nl_streams_bytes(const struct nl_stream *stream, uint64_t count)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < count; i++)
		bytes += nl_stream_bytes(&stream[i]);
	return bytes;
}

static inline int nl_stream_quitting(const struct nl_stream *stream)
{
	return atomic_load_explicit(stream->quit, memory_order_relaxed);
}

/* True if the planned end of a stream has come. */
static inline int nl_stream_past_end(const struct nl_stream *stream)
{
	return stream->end_ns && nl_now_ns() >= stream->end_ns;
}

static inline void nl_stream_sent(struct nl_stream *stream, uint64_t bytes)
{
	nl_stream_count(stream, bytes);
	if (stream->left != UINT64_MAX)
		stream->left -= bytes;
}

/* Count bytes read by a sink's stream. Reads the clock for the first record only. */
static inline void nl_stream_received(struct nl_stream *stream, uint64_t bytes)
{
	if (__builtin_expect(stream->t_first_ns == 0, 0))
		stream->t_first_ns = nl_now_ns();
	nl_stream_count(stream, bytes);
}

static inline size_t nl_stream_next(const struct nl_stream *stream, uint64_t record_B)
{
	return stream->left < record_B ? (size_t)stream->left : (size_t)record_B;
}

/* Outstanding MSG_ZEROCOPY completions. */
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
