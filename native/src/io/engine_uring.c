/* The io_uring engine: one ring per thread, one request per stream. */
#include "base/clock.h"
#include "base/error.h"
#include "io/ring.h"
#include "io/worker.h"
#include "io/zc_pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* More requests than this are submitted in parts. */
enum { REQUESTS_MAX = 4096, COMPLETIONS_LEAST = 256 };

/* The user data of a request: index of its stream in the thread, and number of the send. */
#define NAME(nth, number) ((uint64_t)(nth) << 32 | (number))

/* The low bits of a send's number identify it among the pending ones; the next bit marks a plain
 * send. */
enum { NUMBER = 0xffff, COPY = 0x10000 };

_Static_assert(NUMBER % NL_ZC_PENDING_MAX == NL_ZC_PENDING_MAX - 1, "a number finds its place");

struct uring {
	struct nl_ring ring;
	int begun;
	uint8_t closing_byte; /* the sink sends no data */
};

static enum nl_ring_op op_of(const struct nl_run_opts *opts)
{
	if (opts->role == NL_SINK)
		return NL_RING_RECV;
	return opts->send == NL_SEND_ZEROCOPY ? NL_RING_SEND_ZC : NL_RING_SEND;
}

static int flags_of(const struct nl_run_opts *opts)
{
	if (opts->role == NL_GEN)
		return MSG_NOSIGNAL;
	return opts->receive == NL_RECEIVE_DISCARD ? MSG_TRUNC : 0;
}

static int probe(const struct nl_run_opts *opts, struct nl_err *err)
{
	enum nl_ring_op op = op_of(opts);
	struct nl_ring ring;
	int errnum = nl_ring_open(&ring, 4, 8);

	if (errnum == EPERM)
		return nl_fail(err, NL_REFUSED,
			       "engine uring: this host forbids io_uring (kernel.io_uring_disabled, or a "
			       "filter of system calls)");
	if (errnum == ENOSYS)
		return nl_fail(err, NL_REFUSED, "engine uring: this kernel has no io_uring");
	if (errnum)
		return nl_fail_errno(err, errnum, "engine uring: io_uring_setup");
	errnum = nl_ring_try(&ring, op, op == NL_RING_SEND_ZC ? NL_RING_REPORT_USAGE : 0);
	nl_ring_close(&ring);
	if (!errnum)
		return NL_OK;
	if (op == NL_RING_SEND_ZC)
		return nl_fail(err, NL_REFUSED,
			       "engine uring: this kernel does not report whether zero-copy sends were "
			       "copied: needs Linux 6.2");
	return nl_fail_errno(err, errnum, "engine uring: io_uring %s",
			     op == NL_RING_RECV ? "recv" : "send");
}

static uint32_t power_of_2(uint64_t least)
{
	uint32_t n = 1;

	while (n < least)
		n *= 2;
	return n;
}

static int prepare(struct nl_worker *worker)
{
	uint64_t streams = nl_worker_streams(worker);
	struct uring *uring = calloc(1, sizeof(*uring));

	if (!uring)
		return ENOMEM;
	worker->own = uring;
	/* a zero-copy send has two completions */
	return nl_ring_open(&uring->ring, power_of_2(streams < REQUESTS_MAX ? streams : REQUESTS_MAX),
			    power_of_2(2 * streams + COMPLETIONS_LEAST));
}

static int submit(struct nl_worker *worker, uint64_t nth, enum nl_ring_op op, void *address,
		  size_t len, int message_flags, uint32_t number)
{
	struct uring *uring = worker->own;
	struct nl_ring_request *request = nl_ring_next(&uring->ring);

	if (!request)
		return errno;
	request->op = (uint8_t)op;
	request->fd = nl_worker_stream(worker, nth)->fd;
	request->address = (uint64_t)(uintptr_t)address;
	request->len = (uint32_t)len;
	request->message_flags = (uint32_t)message_flags;
	request->ioprio = op == NL_RING_SEND_ZC ? NL_RING_REPORT_USAGE : 0;
	request->data = NAME(nth, number);
	return 0;
}

static int submit_close(struct nl_worker *worker, uint64_t nth)
{
	struct uring *uring = worker->own;

	return submit(worker, nth, NL_RING_RECV, &uring->closing_byte, 1, 0, 0);
}

/* End of the stream's data: wait for the sink's close, if the stream is still open. */
static void end_data(struct nl_worker *worker, uint64_t nth, int errnum)
{
	struct nl_stream *stream = nl_worker_stream(worker, nth);

	nl_worker_moved(worker, stream, errnum);
	if (stream->phase == NL_CLOSING) {
		errnum = submit_close(worker, nth);
		if (errnum)
			nl_worker_closed(worker, stream, -1, errnum);
	}
}

static void submit_move(struct nl_worker *worker, uint64_t nth)
{
	struct nl_stream *stream = nl_worker_stream(worker, nth);
	struct nl_io_ctx *ctx = &worker->ctx;
	enum nl_ring_op op = op_of(worker->transfer->opts);
	size_t len = (size_t)ctx->record_B;
	uint32_t number = 0;
	int errnum;

	if (nl_worker_sends(worker)) {
		len = nl_stream_next(stream, ctx->record_B);
		if (len == 0 || nl_stream_quitting(stream)) {
			end_data(worker, nth, 0);
			return;
		}
		if (op == NL_RING_SEND_ZC) {
			if (nl_zc_pending_full(stream)) {
				op = NL_RING_SEND;
				number = COPY;
			} else {
				number = nl_zc_pending_begin(stream) & NUMBER;
			}
		}
	}
	errnum = submit(worker, nth, op, ctx->buffer, len, flags_of(worker->transfer->opts), number);
	if (errnum)
		end_data(worker, nth, errnum);
}

static int await_completions(struct nl_worker *worker)
{
	struct uring *uring = worker->own;

	if (!uring->begun) {
		uring->begun = 1;
		for (uint64_t i = 0; i < nl_worker_streams(worker); i++) {
			struct nl_stream *stream = nl_worker_stream(worker, i);

			if (nl_worker_sends(worker))
				stream->t_first_ns = nl_now_ns();
			submit_move(worker, i);
		}
	}
	return worker->open ? nl_ring_enter(&uring->ring, 1) : 0;
}

static void handle_move(struct nl_worker *worker, uint64_t nth, int32_t result)
{
	struct nl_stream *stream = nl_worker_stream(worker, nth);

	if (result > 0) {
		if (nl_worker_sends(worker)) {
			nl_worker_sent(worker, stream, (uint64_t)result);
		} else {
			nl_stream_received(stream, (uint64_t)result);
			if (nl_stream_quitting(stream)) {
				end_data(worker, nth, 0);
				return;
			}
		}
		submit_move(worker, nth);
	} else if (result == -EINTR || result == -EAGAIN) {
		submit_move(worker, nth);
	} else {
		end_data(worker, nth, nl_stream_quitting(stream) ? 0 : -result);
	}
}

/* A zero-copy send completes, and later a notification releases its memory. */
static void handle_zerocopy(struct nl_worker *worker, uint64_t nth,
			    const struct nl_ring_completion *done)
{
	struct nl_stream *stream = nl_worker_stream(worker, nth);
	uint32_t number = stream->zc_pending->oldest, low = (uint32_t)done->data;

	/* the pending number with these low bits */
	number += (low - number) & NUMBER;
	if (done->flags & NL_RING_NOTIFICATION) {
		nl_zc_pending_done(stream, number, ((uint32_t)done->result & NL_RING_COPIED) != 0);
		return;
	}
	if (low & COPY) {
		if (done->result > 0)
			nl_zc_pending_copied(stream, (uint64_t)done->result);
	} else {
		nl_zc_pending_sent(stream, number, done->result > 0 ? (uint64_t)done->result : 0);
		if (!(done->flags & NL_RING_MORE))
			nl_zc_pending_done(stream, number, 0);
	}
	handle_move(worker, nth, done->result);
}

static int handle_completions(struct nl_worker *worker)
{
	struct uring *uring = worker->own;
	int zerocopy = op_of(worker->transfer->opts) == NL_RING_SEND_ZC;
	struct nl_ring_completion done;
	int handled = 0;

	for (; nl_ring_take(&uring->ring, &done); handled++) {
		uint64_t nth = done.data >> 32;
		struct nl_stream *stream = nl_worker_stream(worker, nth);

		if (stream->phase == NL_ENDED && !(done.flags & NL_RING_NOTIFICATION))
			continue; /* the stream has failed before */
		if (stream->phase == NL_CLOSING && !(done.flags & NL_RING_NOTIFICATION))
			nl_worker_closed(worker, stream, done.result, -done.result);
		else if (zerocopy)
			handle_zerocopy(worker, nth, &done);
		else
			handle_move(worker, nth, done.result);
	}
	return handled;
}

static void transfer(struct nl_worker *worker)
{
	handle_completions(worker);
}

static int any_pending(const struct nl_worker *worker)
{
	for (uint64_t i = 0; i < nl_worker_streams(worker); i++)
		if (nl_zc_pending_any(nl_worker_stream(worker, i)))
			return 1;
	return 0;
}

/* As await_zc_completions in worker.c, with the notifications read from the ring. */
static void await_zc_completions(struct nl_worker *worker)
{
	uint64_t until_ns = nl_now_ns() + NL_ZC_WAIT_MS * NL_NS_PER_MS;
	struct timespec moment = nl_timespec(NL_NS_PER_MS);
	struct uring *uring = worker->own;

	while (any_pending(worker) && nl_now_ns() < until_ns) {
		if (nl_ring_enter(&uring->ring, 0))
			return;
		/* the kernel delivers a few at a time */
		if (!handle_completions(worker))
			nanosleep(&moment, NULL);
	}
}

static void finish(struct nl_worker *worker)
{
	struct uring *uring = worker->own;

	if (uring) {
		await_zc_completions(worker);
		nl_ring_close(&uring->ring);
	}
	free(uring);
	worker->own = NULL;
}

const struct nl_engine nl_engine_uring = {
	.name = "uring",
	.probe = probe,
	.prepare = prepare,
	.wait = await_completions,
	.transfer = transfer,
	.finish = finish,
};
