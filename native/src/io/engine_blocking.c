/* The blocking engines: one thread per stream. `plain` has a policy without batches, delays or
 * yields: blocking send() and recv() only. */
#include "base/clock.h"
#include "io/read_delay.h"
#include "io/worker.h"
#include "io/stream.h"
#include "net/sock.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* The kernel wakes a sender once a third of its buffer is free, and the acknowledgements of a long
 * path come in bursts: what is free before the end of a burst would stay so for a whole RTT. That
 * matters while more than half of the buffer is in flight. Else enough is unsent until the wake-up,
 * and looks at a full buffer would only cost CPU time. */
enum { REFILL_MS = 1, UNSENT_MS = 200 };

/* Bytes to send before the next look: what the buffer has free, at least a sixteenth of it while it
 * is not full, since a look costs. The kernel adds to a packet that it has not sent yet whatever the
 * buffer holds already, so that a sender that only tries again goes many times beyond its buffer. */
static int64_t room_of(const struct nl_stream *stream)
{
	uint32_t memory[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(memory);

	getsockopt(stream->fd, SOL_SOCKET, SO_MEMINFO, memory, &len);
	int64_t most_B = memory[SK_MEMINFO_SNDBUF];
	int64_t free_B = most_B - memory[SK_MEMINFO_WMEM_QUEUED];
	return free_B > 0 && free_B < most_B / 16 ? most_B / 16 : free_B;
}

/* Longest wait for room: until the next look, or the end of the run. */
static int blocking_wait_ms(const struct nl_worker *worker, const struct nl_stream *stream)
{
	uint64_t end_ns = atomic_load_explicit(&worker->transfer->end_ns, memory_order_relaxed);
	int queued_B = 0, unsent_B = 0, left_ms;

	if (stream->end_ns && stream->end_ns < end_ns)
		end_ns = stream->end_ns;
	left_ms = end_ns ? nl_poll_ms(end_ns) : UNSENT_MS;

	if (ioctl(stream->fd, SIOCOUTQ, &queued_B) || ioctl(stream->fd, SIOCOUTQNSD, &unsent_B) ||
	    unsent_B <= queued_B / 2 || left_ms < REFILL_MS)
		return REFILL_MS;
	return left_ms < UNSENT_MS ? left_ms : UNSENT_MS;
}

/* Wait until the kernel says that the socket has room, at most for wait_ms; false if it has failed. */
static bool await_room(struct nl_worker *worker, const struct nl_stream *stream, short events)
{
	struct pollfd wanted = {.fd = stream->fd, .events = events};

	poll(&wanted, 1, blocking_wait_ms(worker, stream));
	nl_worker_check_time(worker);
	return !(wanted.revents & POLLHUP);
}

/* Wait for the planned start of a stream, or until the run has ended or the peer is gone. */
static void await_start(struct nl_worker *worker, const struct nl_stream *stream)
{
	struct pollfd gone = {.fd = stream->fd};

	while (nl_now_ns() < stream->start_ns && !nl_stream_quitting(stream) && !gone.revents) {
		int ms = nl_poll_ms(stream->start_ns);

		poll(&gone, 1, ms < UNSENT_MS ? ms : UNSENT_MS);
		nl_worker_check_time(worker);
	}
}

static int send_all(struct nl_worker *worker, struct nl_stream *stream)
{
	struct nl_io_ctx *ctx = &worker->ctx;
	ssize_t (*const move)(struct nl_io_ctx *, struct nl_stream *, size_t) = ctx->method->move;
	int64_t room_B = INT64_MAX; /* until the buffer is full for the first time */

	await_start(worker, stream);
	stream->t_first_ns = nl_now_ns();
	while (stream->left > 0 && !nl_stream_quitting(stream) && !nl_stream_past_end(stream)) {
		ssize_t n;

		if (room_B <= 0 && (room_B = room_of(stream)) <= 0) {
			if (ctx->method->reap) /* or poll returns at once */
				ctx->method->reap(stream);
			if (await_room(worker, stream, POLLOUT))
				continue;
		} /* else the next call says why it failed */
		n = move(ctx, stream, nl_stream_next(stream, ctx->record_B));
		if (n > 0) {
			nl_worker_sent(worker, stream, (uint64_t)n);
			room_B -= n;
		} else if (errno == EAGAIN) {
			await_room(worker, stream, POLLOUT);
			room_B = 0;
		} else if (errno == ENOBUFS && nl_zc_pending_any(stream)) {
			await_room(worker, stream, 0); /* a completion: POLLERR is always reported */
		} else if (errno != EINTR) { /* EPIPE after the run has shut the socket down */
			return nl_stream_quitting(stream) ? 0 : errno;
		}
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

static void blocking_transfer(struct nl_worker *worker)
{
	struct nl_stream *stream = nl_worker_stream(worker, 0);
	int errnum = nl_worker_sends(worker) ? send_all(worker, stream)
					     : receive_all(worker, stream);

	nl_worker_moved(worker, stream, errnum);
	if (stream->phase == NL_CLOSING && nl_sock_blocking(stream->fd) == 0)
		nl_worker_await_close(worker, stream);
}

const struct nl_engine nl_engine_blocking = {
	.name = "blocking", .one_stream = 1, .transfer = blocking_transfer,
};

const struct nl_engine nl_engine_plain = {
	.name = "plain", .one_stream = 1, .transfer = blocking_transfer,
};
