/* The epoll engine: one level-triggered set per thread. A stream left with data pending is reported
 * again after the others. */
#include "base/clock.h"
#include "base/files.h"
#include "io/worker.h"
#include "io/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum { EVENTS = 256 };

/* Limit of calls per batch: records may be small. */
enum { BATCH_CALLS = 128 };

struct set {
	int fd, ready;
	int over; /* a gen: the data of all streams have ended */
	struct epoll_event event[EVENTS];
};

static int set_events(const struct set *set, struct nl_stream *stream, uint32_t events,
		      int operation)
{
	struct epoll_event event = {.events = events, .data.ptr = stream};

	return epoll_ctl(set->fd, operation, stream->fd, &event);
}

static int epoll_prepare(struct nl_worker *worker)
{
	struct set *set = malloc(sizeof(*set));

	if (!set)
		return ENOMEM;
	worker->own = set;
	*set = (struct set){0};
	set->fd = epoll_create1(EPOLL_CLOEXEC);
	if (set->fd < 0)
		return errno;
	for (uint64_t i = 0; i < nl_worker_streams(worker); i++)
		if (set_events(set, nl_worker_stream(worker, i),
			       nl_worker_sends(worker) ? EPOLLOUT : EPOLLIN, EPOLL_CTL_ADD))
			return errno;
	return 0;
}

/* Until the end of a timed gen; then for a millisecond, while the sink's window lasts. */
static int epoll_wait_ms(const struct nl_transfer *transfer, const struct set *set)
{
	uint64_t end_ns = atomic_load_explicit(&transfer->end_ns, memory_order_relaxed);
	int ms = nl_poll_ms(end_ns);

	if (!end_ns || set->over)
		return -1;
	return ms > 0 ? ms : 1;
}

static int epoll_await(struct nl_worker *worker)
{
	struct set *set = worker->own;

	set->ready = epoll_wait(set->fd, set->event, EVENTS, epoll_wait_ms(worker->transfer, set));
	if (set->ready >= 0)
		return 0;
	set->ready = 0;
	return errno == EINTR ? 0 : errno;
}

/* End of the stream's data: select the events to wait for next. */
static void end_data(struct nl_worker *worker, struct nl_stream *stream, int errnum)
{
	nl_worker_moved(worker, stream, errnum);
	if (stream->phase == NL_CLOSING)
		set_events(worker->own, stream, EPOLLIN, EPOLL_CTL_MOD);
	else
		set_events(worker->own, stream, 0, EPOLL_CTL_DEL);
}

static void epoll_send(struct nl_worker *worker, struct nl_stream *stream)
{
	struct nl_io_ctx *ctx = &worker->ctx;
	uint64_t batch_B = 0;

	if (stream->t_first_ns == 0)
		stream->t_first_ns = nl_now_ns();
	if (stream->throttled) {
		set_events(worker->own, stream, EPOLLOUT, EPOLL_CTL_MOD);
		stream->throttled = 0;
	}
	for (int call = 0; call < BATCH_CALLS && batch_B < worker->transfer->policy.batch_B; call++) {
		size_t len = nl_stream_next(stream, ctx->record_B);
		ssize_t n;

		if (len == 0 || nl_stream_quitting(stream)) {
			end_data(worker, stream, 0);
			return;
		}
		n = ctx->method->move(ctx, stream, len);
		if (n > 0) {
			nl_worker_sent(worker, stream, (uint64_t)n);
			batch_B += (uint64_t)n;
			if ((size_t)n < len) /* the send buffer is full */
				return;
		} else if (errno == ENOBUFS && nl_zc_pending_any(stream)) {
			/* wait for a completion, which is reported as EPOLLERR */
			set_events(worker->own, stream, 0, EPOLL_CTL_MOD);
			stream->throttled = 1;
			return;
		} else if (errno != EINTR) {
			if (errno != EAGAIN)
				end_data(worker, stream, nl_stream_quitting(stream) ? 0 : errno);
			return;
		}
	}
}

static void epoll_receive(struct nl_worker *worker, struct nl_stream *stream)
{
	struct nl_io_ctx *ctx = &worker->ctx;
	uint64_t batch_B = 0;

	for (int call = 0; call < BATCH_CALLS && batch_B < worker->transfer->policy.batch_B; call++) {
		ssize_t n = ctx->method->move(ctx, stream, ctx->record_B);

		if (n > 0) {
			nl_stream_received(stream, (uint64_t)n);
			batch_B += (uint64_t)n;
			if (nl_stream_quitting(stream)) {
				end_data(worker, stream, 0);
				return;
			}
			if ((uint64_t)n < ctx->record_B) /* the receive buffer is empty */
				return;
		} else if (n == 0 || errno != EINTR) {
			if (n == 0 || errno != EAGAIN)
				end_data(worker, stream, n == 0 || nl_stream_quitting(stream) ? 0 : errno);
			return;
		}
	}
}

/* End the data of all streams once the time is up: those without room are never ready. */
static void end_in_time(struct nl_worker *worker)
{
	struct set *set = worker->own;

	nl_worker_check_time(worker);
	set->over = nl_stream_quitting(nl_worker_stream(worker, 0));
	for (uint64_t i = 0; set->over && i < nl_worker_streams(worker); i++)
		if (nl_worker_stream(worker, i)->phase == NL_MOVING)
			end_data(worker, nl_worker_stream(worker, i), 0);
}

static void epoll_transfer(struct nl_worker *worker)
{
	struct set *set = worker->own;

	for (int i = 0; i < set->ready; i++) {
		struct nl_stream *stream = set->event[i].data.ptr;

		if (worker->ctx.method->reap && (set->event[i].events & EPOLLERR))
			worker->ctx.method->reap(stream);
		if (stream->phase == NL_CLOSING) {
			nl_worker_await_close(worker, stream);
			if (stream->phase == NL_ENDED)
				set_events(set, stream, 0, EPOLL_CTL_DEL);
		} else if (nl_worker_sends(worker)) {
			epoll_send(worker, stream);
		} else {
			epoll_receive(worker, stream);
		}
	}
	if (nl_worker_sends(worker) && !set->over)
		end_in_time(worker);
}

static void epoll_finish(struct nl_worker *worker)
{
	struct set *set = worker->own;

	if (set)
		nl_close(&set->fd);
	free(set);
}

const struct nl_engine nl_engine_epoll = {
	.name = "epoll", .prepare = epoll_prepare, .wait = epoll_await, .transfer = epoll_transfer,
	.finish = epoll_finish,
};
