/* run: state of a sink or gen, shared by the files of this folder. */
#pragma once

#include "base/request.h"
#include "io/worker.h"

struct nl_run {
	struct nl_run_opts opts;
	struct nl_transfer transfer;
	struct nl_report report;
	int blocking; /* the sockets, once streams are released */
	int listener; /* sink; -1 otherwise */
	int wake;     /* eventfd: readable once the run has been asked to stop */
	uint32_t port;
	int udp_port; /* sink: reserves the port for the streams' sockets, and gets what is not theirs; or -1 */
	struct nl_flow *flow; /* [streams] of a UDP run, or NULL */
	int control[NL_SENDERS_MAX]; /* sink: a control connection of each sender; -1: none yet */
	atomic_int stop_requested;
	/* Of a sink with await_start_ms; NULL: nothing can start it. The step is `connected` or `running`. */
	void (*on_step)(void *context, const char *step);
	void *step_context;
	int start_requested; /* guarded by transfer.lock */
	struct nl_latency_probe *latency; /* NULL without the option */
};

/* Connections of a gen that are not established. More at once would overflow the sink's backlog and delay a retry
 * by one second. */
enum { NL_CONNECTING_MAX = 128 };

/* Connect all streams and the control connection. NL_OK: all have a connected socket, or stop_requested is set.
 * NL_TIMEOUT and NL_PEER as in netlab.h. */
int nl_sink_accept(struct nl_run *run, struct nl_err *err);
int nl_gen_connect(struct nl_run *run, struct nl_err *err);

/* Send the hello of stream id, of a gen's own, over fd, or fail with the reason that fd has not connected. flow: of a UDP run's
 * stream, which gets its socket; else NULL. */
int nl_gen_hello(const struct nl_run_opts *opts, int fd, uint64_t id, struct nl_flow *flow, struct nl_err *err);

/* Sink with await_start_ms: wait for nl_run_start, or until stop_requested is set. */
int nl_sink_await_start(struct nl_run *run, struct nl_err *err);
void nl_run_start(struct nl_run *run);

/* Sink: send G on every stream. Gen: wait for it on every stream. */
int nl_sink_go(struct nl_run *run, struct nl_err *err);
int nl_gen_go(struct nl_run *run, uint64_t deadline_ns, struct nl_err *err);

/* Sink: send W on the control connections, since the window is over. A gen waits for it at its end. */
void nl_sink_over(const struct nl_run *run);

/* Start, time, sample and end the streams; fills the report. */
int nl_run_measure(struct nl_run *run, uint64_t deadline_ns, struct nl_err *err);

/* -- latency probe: a thread of each end, beside the streams ------------------------- */

/* Open the datagram socket, of a sink at its port, and the memory of all probes. NL_OK without the option. */
int nl_latency_open(struct nl_run *run, struct nl_err *err);

/* Connect, and start the thread; of a gen also wait until the idle phase is over or the run is stopped. */
int nl_latency_start(struct nl_run *run, struct nl_err *err);

/* Sink: take over the connection of the gen's probe. 0, or -1: there is one, or it lacks an option; close it. */
int nl_latency_take(struct nl_run *run, int fd);

/* Of a run that ended well: probe the path after its streams, or answer until the gen is done. Then join the
 * thread. */
void nl_latency_finish(struct nl_run *run);

void nl_latency_free(struct nl_run *run);

/* -- options from requests; the table is nl_options() --------------------------------- */

/* The option of that name, or NULL. */
const struct nl_option *nl_option_find(const char *name);

/* Fill *opts for role from a request: every key must be an option of the role, and every required
 * option present. */
int nl_options_from_request(struct nl_run_opts *opts, int role, struct nl_request *request,
			    struct nl_err *err);

/* -- samples: cumulative byte counts over time, in arrays allocated before the run ----- */

/* The counts are cumulative, so dropping every other sample loses no bytes: a run without a planned
 * end does so when its arrays are full. */

/* Allocate for the run; fills the sample_* and trace_* fields of *report. */
int nl_samples_open(const struct nl_run_opts *opts, struct nl_report *report, struct nl_err *err);
void nl_samples_free(struct nl_report *report);

/* The place of a stream's value in the tables of a report: those of one time are adjacent, as they are written. */
static inline uint64_t nl_sample_at(const struct nl_report *report, uint64_t stream, uint64_t k)
{
	return k * report->streams + stream;
}

/* Read all counters and the clock, and append a sample; returns its time. */
uint64_t nl_samples_take(struct nl_report *report, struct nl_stream *stream);

/* Map at least *len_B zeroed bytes, page-aligned; *len_B receives the length to unmap. With huge, request
 * huge pages (MADV_HUGEPAGE) and fall back to small ones. NULL with errno. */
void *nl_pages_map(uint64_t *len_B, int huge);
