/* The blocking engines: one thread per stream, blocking calls. `plain` has a policy without
 * batches, delays or yields: send() and recv() only. */
#include "io/read_delay.h"
#include "io/worker.h"

#include <errno.h>

static int send_all(struct nl_worker *worker, struct nl_stream *stream)
{
	struct nl_io_ctx *ctx = &worker->ctx;
	ssize_t (*const move)(struct nl_io_ctx *, struct nl_stream *, size_t) = ctx->method->move;

	stream->t_first_ns = nl_now_ns();
	while (stream->left > 0 && !nl_stream_quitting(stream)) {
		ssize_t n = move(ctx, stream, nl_stream_next(stream, ctx->record_B));

		if (n > 0)
			nl_worker_sent(worker, stream, (uint64_t)n);
		else if (errno != EINTR) /* EPIPE after the run has shut the socket down */
			return nl_stream_quitting(stream) ? 0 : errno;
	}
	return 0;
}

static int receive_all(struct nl_worker *worker, struct nl_stream *stream)
{
	struct nl_io_ctx *ctx = &worker->ctx;
	ssize_t (*const move)(struct nl_io_ctx *, struct nl_stream *, size_t) = ctx->method->move;
	struct nl_read_delay delay;
	ssize_t n;

	nl_read_delay_begin(&delay, worker->transfer->policy.read_delay ? stream->fd : -1);
	while ((n = move(ctx, stream, ctx->record_B)) != 0) {
		if (n > 0) {
			nl_stream_received(stream, (uint64_t)n);
			if (nl_stream_quitting(stream))
				return 0;
			nl_read_delay_after_read(&delay, nl_stream_bytes(stream), (uint64_t)n,
						 ctx->record_B);
		} else if (errno != EINTR) {
			return nl_stream_quitting(stream) ? 0 : errno;
		}
	}
	return 0;
}

static void transfer(struct nl_worker *worker)
{
	struct nl_stream *stream = nl_worker_stream(worker, 0);
	int errnum = nl_worker_sends(worker) ? send_all(worker, stream)
					     : receive_all(worker, stream);

	nl_worker_moved(worker, stream, errnum);
	if (stream->phase == NL_CLOSING)
		nl_worker_await_close(worker, stream);
}

const struct nl_engine nl_engine_blocking = {
	.name = "blocking",
	.one_stream = 1,
	.transfer = transfer,
};

const struct nl_engine nl_engine_plain = {
	.name = "plain",
	.one_stream = 1,
	.transfer = transfer,
};
