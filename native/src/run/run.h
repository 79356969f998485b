/* run: what a sink or gen is made of, shared by the files that bring it to life. */
#ifndef NL_RUN_H
#define NL_RUN_H

#include "io/stream.h"
#include "run/engine.h"
#include "run/affinity.h"

#include <pthread.h>

struct nl_run {
	struct nl_run_opts opts;
	struct nl_affinity affinity;
	const struct nl_engine *engine;
	const struct nl_io_method *method;
	int blocking;             /* the sockets, once streams are let go */
	struct nl_batch batch;
	int delays_reads;              /* what comes may pile up before it is read, see linger.h */
	struct nl_stream *stream; /* [streams] */
	struct nl_report report;
	/* Mapped, buffers_B long: one pattern that all gens send, or for each thread of a
	 * sink a record to read to, stride_B apart. */
	uint8_t *buffers;
	uint64_t buffers_B, stride_B;
	int file;     /* the pattern as a file for sendfile; -1 otherwise */
	int listener; /* sink; -1 otherwise */
	int wake;     /* eventfd: readable once the run was told to stop */
	uint32_t port;

	atomic_int quit; /* streams leave their loops */
	atomic_int stop_requested;

	pthread_mutex_t lock; /* of the fields below */
	pthread_cond_t changed;
	uint64_t ready; /* threads that have prepared */
	uint64_t live;  /* threads that have not ended */
	int released;   /* threads may transfer */
};

/* Bring all streams together: every stream has a connected socket when it
 * returns NL_OK. NL_TIMEOUT and NL_PEER as the header says. NL_OK with stop_requested
 * set when it was interrupted. */
int nl_sink_accept(struct nl_run *run, struct nl_err *err);
int nl_gen_connect(struct nl_run *run, struct nl_err *err);

/* Sink: say G on every stream. Gen: hear it on every stream. */
int nl_sink_go(struct nl_run *run, struct nl_err *err);
int nl_gen_go(struct nl_run *run, uint64_t deadline_ns, struct nl_err *err);

/* Start, time, sample and end the streams; fills the report. */
int nl_run_measure(struct nl_run *run, uint64_t deadline_ns, struct nl_err *err);

#endif
