/* The blocking engines: one thread a stream, one system call a record. */
#include "stream.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static int quitting(const struct nl_stream *stream)
{
	return atomic_load_explicit(stream->quit, memory_order_relaxed);
}

static int prepare_pattern(struct nl_stream *stream)
{
	for (uint64_t i = 0; i < stream->record_B; i++)
		stream->buffer[i] = (uint8_t)i;
	return 0;
}

static int transfer_send(struct nl_stream *stream)
{
	uint64_t left = stream->to_send;

	stream->t_first_ns = nl_now_ns();
	while (left > 0 && !quitting(stream)) {
		size_t len = left < stream->record_B ? (size_t)left : (size_t)stream->record_B;
		ssize_t n = send(stream->fd, stream->buffer, len, MSG_NOSIGNAL);

		if (n > 0) {
			nl_stream_count(stream, (uint64_t)n);
			if (left != UINT64_MAX)
				left -= (uint64_t)n;
		} else if (errno != EINTR) {
			/* a blocked send ends with EPIPE when the run shuts the socket down */
			return quitting(stream) ? 0 : errno;
		}
	}
	return 0;
}

static int finish_send(struct nl_stream *stream)
{
	char byte;
	ssize_t n;

	if (shutdown(stream->fd, SHUT_WR) && errno != ENOTCONN)
		return errno;
	/* the sink closes after its last byte: by then everything has been acknowledged */
	do
		n = recv(stream->fd, &byte, 1, 0);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return EPROTO;
	return n < 0 ? errno : 0;
}

static int prepare_target(struct nl_stream *stream)
{
	memset(stream->buffer, 0, stream->record_B);
	return 0;
}

static int prepare_nothing(struct nl_stream *stream)
{
	(void)stream;
	return 0;
}

static inline int receive_until_end(struct nl_stream *stream, int flags)
{
	ssize_t n;

	while ((n = recv(stream->fd, stream->buffer, stream->record_B, flags)) != 0) {
		if (n > 0) {
			/* the clock is read for the first record alone */
			if (__builtin_expect(stream->t_first_ns == 0, 0))
				stream->t_first_ns = nl_now_ns();
			nl_stream_count(stream, (uint64_t)n);
			if (quitting(stream))
				return 0;
		} else if (errno != EINTR) {
			return quitting(stream) ? 0 : errno;
		}
	}
	return 0;
}

static int transfer_receive(struct nl_stream *stream)
{
	return receive_until_end(stream, 0);
}

static int transfer_discard(struct nl_stream *stream)
{
	return receive_until_end(stream, MSG_TRUNC);
}

static int finish_receive(struct nl_stream *stream)
{
	return shutdown(stream->fd, SHUT_WR) && errno != ENOTCONN ? errno : 0;
}

const struct nl_engine nl_engine_send = {"send", prepare_pattern, transfer_send, finish_send};
const struct nl_engine nl_engine_receive = {"receive", prepare_target, transfer_receive,
					    finish_receive};
const struct nl_engine nl_engine_discard = {"discard", prepare_nothing, transfer_discard,
					    finish_receive};

const struct nl_engine *nl_engine_of(const struct nl_run_opts *opts)
{
	if (opts->role == NL_GEN)
		return &nl_engine_send;
	return opts->discard ? &nl_engine_discard : &nl_engine_receive;
}
