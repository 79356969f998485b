/* The engine of a gen's datagrams: each thread has several streams, all at one rate.
 *
 * A turn sends of every stream what has become due, and then sleeps until the next turn. */
#include "base/clock.h"
#include "io/schedule.h"
#include "io/udp_end.h"
#include "io/udp_sender.h"
#include "io/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum {
	STREAM_CALLS = 16,          /* of a stream before the next one */
	AHEAD_NS = 5 * 1000 * 1000, /* that the kernel gets what it paces */
	FULL_NS = 200 * 1000,       /* between two tries at a full send buffer */
};

struct gen {
	struct nl_schedule schedule;
	struct nl_udp_sender *sender;
};

static int gen_prepare(struct nl_worker *worker)
{
	const struct nl_run_opts *opts = worker->transfer->opts;
	struct gen *gen = worker->own = calloc(1, sizeof(*gen));

	if (!gen)
		return ENOMEM;
	gen->sender = nl_udp_sender_new(opts, worker->ctx.buffer);
	if (!gen->sender)
		return ENOMEM;
	gen->schedule = nl_schedule_of((double)opts->pacing_Bps / (double)opts->record_B,
				       opts->kernel_pacing ? AHEAD_NS : 0);
	prctl(PR_SET_TIMERSLACK, 1UL); /* of this thread; by default 50 us */
	return 0;
}

static int gen_wait(struct nl_worker *worker)
{
	const struct gen *gen = worker->own;
	struct timespec at = nl_timespec(gen->schedule.next_ns);

	if (gen->schedule.next_ns > nl_now_ns())
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	return 0;
}

/* Send what is due of a stream and not skipped, in at most STREAM_CALLS calls. */
static void gen_send_due(struct nl_worker *worker, struct nl_stream *stream, uint64_t skipped)
{
	struct gen *gen = worker->own;
	struct nl_udp *count = &stream->flow->sequence.count;
	uint64_t behind = gen->schedule.due - (count->skipped += skipped) - count->sent;

	if (behind > gen->schedule.most) {
		count->skipped += behind - gen->schedule.most;
		behind = gen->schedule.most;
	}
	for (int call = 0; behind > 0 && call < STREAM_CALLS; call++) {
		uint64_t n = behind;
		int64_t sent = nl_udp_send(gen->sender, stream, &n);

		if (sent > 0) {
			behind -= (uint64_t)sent;
			count->sent += (uint64_t)sent;
			nl_stream_sent(stream, (uint64_t)sent * worker->transfer->opts->record_B);
		}
		if (sent < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EINTR) {
			nl_worker_moved(worker, stream, errno);
			return;
		}
		if (sent < (int64_t)n) {
			gen->schedule.next_ns = nl_now_ns() + FULL_NS;
			return;
		}
	}
	if (behind > 0)
		gen->schedule.next_ns = 0;
}

static void gen_end(struct nl_worker *worker, struct nl_stream *stream, uint64_t now)
{
	const struct gen *gen = worker->own;
	int errnum;

	if (!stream->flow->quiet_ns)
		stream->flow->sequence.count.skipped += gen->schedule.late;
	errnum = nl_udp_end_send(stream, now);
	if (errnum >= 0)
		nl_worker_moved(worker, stream, errnum);
}

static void gen_transfer(struct nl_worker *worker)
{
	struct gen *gen = worker->own;
	uint64_t now = nl_now_ns(), skipped = nl_schedule_turn(&gen->schedule, now);
	int over = nl_transfer_over(worker->transfer);

	/* a look at the end at least that often */
	gen->schedule.next_ns = nl_sooner(gen->schedule.next_ns, now + NL_UDP_ENDING_MS * NL_NS_PER_MS);
	for (uint64_t i = 0; i < nl_worker_streams(worker); i++) {
		struct nl_stream *stream = nl_worker_stream(worker, i);

		if (!stream->t_first_ns)
			stream->t_first_ns = now;
		if (stream->phase == NL_CLOSING)
			nl_worker_await_close(worker, stream);
		else if (stream->phase == NL_MOVING && over)
			gen_end(worker, stream, now);
		else if (stream->phase == NL_MOVING)
			gen_send_due(worker, stream, skipped);
	}
}

static void gen_finish(struct nl_worker *worker)
{
	struct gen *gen = worker->own;

	if (gen)
		free(gen->sender);
	free(gen);
}

const struct nl_engine nl_engine_udp_gen = {
	.name = "udp", .prepare = gen_prepare, .wait = gen_wait, .transfer = gen_transfer, .finish = gen_finish,
};

const struct nl_io_method nl_io_udp_send[] = {{.name = "sendmmsg", .buffer = NL_BUFFER_SHARED},
					      {.name = "gso", .buffer = NL_BUFFER_SHARED}};
