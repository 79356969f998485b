/* worker: the threads that move the bytes of a run.
 *
 * Thread i has the streams i, i + threads, i + 2 threads, ...; one each with the blocking engine.
 */
#pragma once

#include "io/affinity.h"
#include "io/io_method.h"

#include <pthread.h>
#include <sched.h>

/* Limit of the wait for zero-copy completions after the end of all streams. */
enum { NL_ZC_WAIT_MS = 200 };

/* Limit of sending on for a sink whose window is not over yet. */
enum { NL_SINK_LATE_MS = 2000 };

/* A thread of a gen reads the clock after this many bytes, and after each wait. */
enum { NL_CLOCK_B = 128 << 10 };

/* The part of a run that its workers use. Constant while they run, except the streams, the report
 * rows (each written by the thread of its stream), quit, and what the lock guards. */
struct nl_transfer {
	const struct nl_run_opts *opts;
	const struct nl_engine *engine;
	const struct nl_io_method *method;
	struct nl_policy policy; /* see engine.h and read_delay.h */
	struct nl_affinity affinity;
	uint64_t threads;
	struct nl_stream *stream;          /* [opts->streams] */
	struct nl_stream_report *report;   /* [opts->streams] */
	/* Mapped, buffers_B long: the pattern that all gens send, or a record for each thread of a
	 * sink, stride_B apart. */
	uint8_t *buffers;
	uint64_t buffers_B, stride_B;
	int file; /* the pattern as a file, for sendfile; -1 otherwise */
	int control; /* the connection on which a sink says that its window is over; -1: none yet */
	/* The end of a timed gen; 0: none. Set before the release; the controlling thread moves it if it
	 * opens the window late. */
	_Atomic uint64_t end_ns;

	atomic_int quit; /* set: streams leave their loops */

	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t changed;
	uint64_t ready; /* threads that have prepared */
	uint64_t live;  /* threads that have not ended */
	int released;   /* threads may transfer */
};

struct nl_worker {
	struct nl_transfer *transfer;
	uint64_t id;
	uint64_t open; /* streams that have not ended */
	uint64_t unyielded_B, unclocked_B;
	struct nl_io_ctx ctx;
	void *own; /* the engine's, between prepare and finish */
	pthread_t thread;
	int errnum; /* of setting its CPU affinity, or 0 */
	uint64_t waited_ns; /* since the release, for a CPU; valid after the join */
	int ended;  /* guarded by the transfer's lock */
};

/* Engine: how the streams of a thread wait. Chosen once per run; called by the worker's own thread
 * only. */
struct nl_engine {
	const char *name;
	int one_stream; /* one thread per stream */
	/* Allocate before the start. 0 or errno. NULL, as wait and finish: nothing to do. */
	int (*prepare)(struct nl_worker *worker);
	/* Block until a stream is ready, or has completed. 0 or errno. */
	int (*wait)(struct nl_worker *worker);
	/* Move what is ready; calls nl_worker_moved and nl_worker_await_close. */
	void (*transfer)(struct nl_worker *worker);
	/* Free what prepare allocated. */
	void (*finish)(struct nl_worker *worker);
};

extern const struct nl_engine nl_engine_blocking, nl_engine_epoll, nl_engine_plain;
extern const struct nl_engine nl_engine_udp_gen, nl_engine_udp_sink;

static inline uint64_t nl_worker_streams(const struct nl_worker *worker)
{
	uint64_t threads = worker->transfer->threads;

	return (worker->transfer->opts->streams - worker->id + threads - 1) / threads;
}

static inline struct nl_stream *nl_worker_stream(const struct nl_worker *worker, uint64_t nth)
{
	return &worker->transfer->stream[worker->id + nth * worker->transfer->threads];
}

static inline int nl_worker_sends(const struct nl_worker *worker)
{
	return worker->transfer->opts->role == NL_GEN;
}

/* Set quit if the end has come and the sink has sent its W on the control connection, or has not for NL_SINK_LATE_MS. Every
 * thread of a gen ends by itself: threads that fill the CPUs kept the controlling thread from one
 * for a minute (seen on Linux 6.18). */
int nl_transfer_over(struct nl_transfer *transfer);

static inline void nl_worker_check_time(struct nl_worker *worker)
{
	worker->unclocked_B = 0;
	nl_transfer_over(worker->transfer);
}

/* Count bytes that a gen has sent. */
static inline void nl_worker_sent(struct nl_worker *worker, struct nl_stream *stream,
				  uint64_t bytes)
{
	nl_stream_sent(stream, bytes);
	worker->unyielded_B += bytes;
	if (worker->unyielded_B >= worker->transfer->policy.yield_B) {
		worker->unyielded_B = 0;
		sched_yield();
	}
	worker->unclocked_B += bytes;
	if (worker->unclocked_B >= NL_CLOCK_B)
		nl_worker_check_time(worker);
}

/* The data of a stream have ended, with 0 or errno. A sink's stream ends here; a gen's waits for
 * the sink to close (NL_CLOSING), unless it failed. */
void nl_worker_moved(struct nl_worker *worker, struct nl_stream *stream, int errnum);

/* Check for the sink's close, on a stream that is NL_CLOSING. */
void nl_worker_await_close(struct nl_worker *worker, struct nl_stream *stream);

/* Start all threads and wait until every engine has prepared. On failure *started threads exist
 * and must be joined. A refused affinity is a failure if an option asks for it, else *refused is
 * its errno. */
int nl_workers_start(struct nl_transfer *transfer, struct nl_worker *worker, uint64_t *started,
		     int *refused, struct nl_err *err);

void nl_workers_release(struct nl_transfer *transfer); /* let them transfer */

/* End the transfer: shut down every socket, SHUT_WR or SHUT_RDWR. */
void nl_workers_shut(struct nl_transfer *transfer, int how);

/* Move the threads to the CPUs of their packets, if the options ask for it. */
void nl_workers_follow(struct nl_transfer *transfer, struct nl_worker *worker);

void nl_workers_join(struct nl_transfer *transfer, struct nl_worker *worker, uint64_t started);
