/* run: state of a sink or gen, shared by the files of this folder. */
#ifndef NL_RUN_H
#define NL_RUN_H

#include "io/worker.h"


struct nl_run {
	struct nl_run_opts opts;
	struct nl_transfer transfer;
	struct nl_report report;
	int blocking; /* the sockets, once streams are released */
	int listener; /* sink; -1 otherwise */
	int wake;     /* eventfd: readable once the run has been asked to stop */
	uint32_t port;
	atomic_int stop_requested;
};

/* Connect all streams. NL_OK: every stream has a connected socket, or stop_requested is set.
 * NL_TIMEOUT and NL_PEER as in netlab.h. */
int nl_sink_accept(struct nl_run *run, struct nl_err *err);
int nl_gen_connect(struct nl_run *run, struct nl_err *err);

/* Sink: send G on every stream. Gen: wait for it on every stream. */
int nl_sink_go(struct nl_run *run, struct nl_err *err);
int nl_gen_go(struct nl_run *run, uint64_t deadline_ns, struct nl_err *err);

/* Sink: send W on the first stream, since the window is over. A gen waits for it at its end. */
void nl_sink_over(const struct nl_run *run);

/* Start, time, sample and end the streams; fills the report. */
int nl_run_measure(struct nl_run *run, uint64_t deadline_ns, struct nl_err *err);

#endif
