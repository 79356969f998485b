/* The epoll engine: one level-triggered set per thread. A stream left with data pending is reported
 * again after the others. */
#include "base/clock.h"
#include "base/dealt.h"
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
	uint64_t planned_ns; /* a gen: next start or end of a stream; UINT64_MAX: none */
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
	const struct nl_run_opts *opts = worker->transfer->opts;
	struct set *set = malloc(sizeof(*set));

	if (!set)
		return ENOMEM;
	worker->own = set;
	*set = (struct set){.planned_ns = opts->starts_ms[0] || opts->ends_ms[0] ? 0 : UINT64_MAX};
	set->fd = epoll_create1(EPOLL_CLOEXEC);
	if (set->fd < 0)
		return errno;
	for (uint64_t i = 0; i < nl_worker_streams(worker); i++) {
		struct nl_stream *stream = nl_worker_stream(worker, i);
		uint32_t events = nl_worker_sends(worker) ? EPOLLOUT : EPOLLIN;

		stream->waits = nl_dealt_number(opts->starts_ms, stream->id) > 0;
		if (set_events(set, stream, stream->waits ? 0 : events, EPOLL_CTL_ADD))
			return errno;
	}
	return 0;
}

/* Until the end of a timed gen, or the next planned time; then for a millisecond, while the sink's window lasts. */
static int epoll_wait_ms(const struct nl_transfer *transfer, const struct set *set)
{
	uint64_t end_ns = atomic_load_explicit(&transfer->end_ns, memory_order_relaxed);
	int ms = nl_poll_ms(nl_sooner(end_ns, set->planned_ns));

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

/* Start and end the streams whose planned time has come. */
static void follow_plan(struct nl_worker *worker)
{
	struct set *set = worker->own;
	uint64_t now = nl_now_ns();

	set->planned_ns = UINT64_MAX;
	for (uint64_t i = 0; i < nl_worker_streams(worker); i++) {
		struct nl_stream *stream = nl_worker_stream(worker, i);
		uint64_t next_ns;

		if (stream->phase != NL_MOVING)
			continue;
		if (stream->end_ns && now >= stream->end_ns) {
			end_data(worker, stream, 0);
			continue;
		}
		if (stream->waits && now >= stream->start_ns) {
			stream->waits = 0;
			set_events(set, stream, EPOLLOUT, EPOLL_CTL_MOD);
		}
		next_ns = stream->waits ? stream->start_ns : stream->end_ns;
		if (next_ns)
			set->planned_ns = nl_sooner(set->planned_ns, next_ns);
	}
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
	if (nl_worker_sends(worker) && !set->over) {
		end_in_time(worker);
		if (set->planned_ns != UINT64_MAX && nl_now_ns() >= set->planned_ns)
			follow_plan(worker);
	}
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
