/* worker: the threads that move a run's bytes. Thread i has the streams i, i + threads,
 * i + 2 threads, ...: one of them with the blocking engine. */
#ifndef NL_WORKER_H
#define NL_WORKER_H

#include "io/io_method.h"
#include "run/run.h"

#include <sched.h>

/* How long completions of zero-copy sends are waited for after the end of all streams. */
enum { NL_ZC_WAIT_MS = 200 };

struct nl_worker {
	struct nl_run *run;
	uint64_t id;
	uint64_t open; /* streams that have not ended */
	uint64_t unyielded_B;
	struct nl_io_ctx ctx;
	void *own; /* of the engine, between prepare and finish */
	pthread_t thread;
	int errnum; /* why it is not where it belongs, or 0 */
	int ended;  /* under the run's lock */
};

/* How the streams of a thread wait for each other; chosen once per run. All calls come
 * from the worker's own thread. */
struct nl_engine {
	const char *name;
	int one_stream; /* a thread a stream, on blocking sockets */
	/* Whether this kernel can, with this method. NL_OK, or a code and why. NULL: it can. */
	int (*probe)(const struct nl_run_opts *opts, struct nl_err *err);
	/* Make ready before the start. 0 or errno. */
	int (*prepare)(struct nl_worker *worker);
	/* Until a stream may move, or has. 0 or errno. */
	int (*wait)(struct nl_worker *worker);
	/* Move what may be moved now; says nl_worker_moved and nl_worker_closed. */
	void (*transfer)(struct nl_worker *worker);
	/* Give back what prepare took. */
	void (*finish)(struct nl_worker *worker);
};

extern const struct nl_engine nl_engine_blocking, nl_engine_epoll, nl_engine_uring;

static inline uint64_t nl_worker_streams(const struct nl_worker *worker)
{
	uint64_t threads = worker->run->report.threads;

	return (worker->run->opts.streams - worker->id + threads - 1) / threads;
}

static inline struct nl_stream *nl_worker_stream(const struct nl_worker *worker, uint64_t nth)
{
	return &worker->run->stream[worker->id + nth * worker->run->report.threads];
}

static inline int nl_worker_sends(const struct nl_worker *worker)
{
	return worker->run->opts.role == NL_GEN;
}

/* A gen has sent so much more. */
static inline void nl_worker_sent(struct nl_worker *worker, struct nl_stream *stream, uint64_t bytes)
{
	nl_stream_sent(stream, bytes);
	worker->unyielded_B += bytes;
	if (worker->unyielded_B >= worker->run->batch.yield_B) {
		worker->unyielded_B = 0;
		sched_yield();
	}
}

/* The data of a stream have ended, with 0 or errno. A sink's stream is over then; a gen's
 * waits for the sink to close (NL_CLOSING), unless it failed. */
void nl_worker_moved(struct nl_worker *worker, struct nl_stream *stream, int errnum);

/* Hear whether the sink has closed, in a stream that is NL_CLOSING. */
void nl_worker_await_close(struct nl_worker *worker, struct nl_stream *stream);

/* A stream that is NL_CLOSING is over; n is what reading on it returned, errnum its errno. */
void nl_worker_closed(struct nl_worker *worker, struct nl_stream *stream, ssize_t n, int errnum);

/* Start all and wait until every engine has prepared. On failure *started threads
 * exist and have to be joined. */
int nl_workers_start(struct nl_run *run, struct nl_worker *worker, uint64_t *started,
		     struct nl_err *err);

void nl_workers_release(struct nl_run *run); /* let them transfer */

/* Make them leave: their sockets are shut down, SHUT_WR or SHUT_RDWR. */
void nl_workers_shut(struct nl_run *run, int how);

/* Move the threads after their packets, when that was asked for. */
void nl_workers_follow(struct nl_run *run, struct nl_worker *worker);

void nl_workers_join(struct nl_run *run, struct nl_worker *worker, uint64_t started);

#endif
