#include "io/engine.h"

#include "base/error.h"
#include "io/worker.h"
#include "net/egress.h"

#include <errno.h>
#include <unistd.h>

static uint64_t cpus_online(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus > 0 ? (uint64_t)cpus : 1;
}

/* Limits of one thread per stream: beyond, its memory and scheduling cost throughput. Below two
 * streams per CPU, sets would be uneven. */
enum { BLOCKING_BEST = 32, SET_BEST_A_CPU = 2 };

static const struct nl_engine *engine_of(const struct nl_run_opts *opts)
{
	switch (opts->engine) {
	case NL_ENGINE_BLOCKING:
		return &nl_engine_blocking;
	case NL_ENGINE_EPOLL:
		return &nl_engine_epoll;
	case NL_ENGINE_URING:
		return &nl_engine_uring;
	default:
		return opts->streams <= BLOCKING_BEST && opts->streams < SET_BEST_A_CPU * cpus_online()
			       ? &nl_engine_blocking
			       : &nl_engine_epoll;
	}
}

static uint64_t threads_of(const struct nl_run_opts *opts, const struct nl_engine *engine)
{
	uint64_t threads = opts->threads ? opts->threads : cpus_online();

	if (engine->one_stream)
		return opts->streams;
	return threads < opts->streams ? threads : opts->streams;
}

/* Egress matters to gens only. */
static struct nl_batch batch_of(const struct nl_run_opts *opts, uint64_t threads)
{
	struct nl_egress egress = {.packet_B = NL_EGRESS_LARGE_B, .queues = 1};

	if (opts->role == NL_GEN)
		egress = nl_egress_of(opts->interface);
	return nl_batch_of(opts->streams, threads, cpus_online(), egress);
}

/* Delay reads only where every sink may have a CPU without a gen. Not where the run measures the
 * buffer, and so the window, or the time of the last byte. */
static int delays_reads_of(const struct nl_run_opts *opts)
{
	return opts->role == NL_SINK && opts->window_ms > 0 && !opts->buffer_B &&
	       (opts->receive == NL_RECEIVE_COPY || opts->receive == NL_RECEIVE_DISCARD) &&
	       opts->streams < cpus_online();
}

int nl_engine_choose(const struct nl_run_opts *opts, struct nl_choice *out, struct nl_err *err)
{
	const struct nl_engine *engine = engine_of(opts);
	const struct nl_io_method *method = nl_io_method_of(opts);
	uint64_t threads = threads_of(opts, engine);
	const char *what = "";
	int code;

	if (method->probe && method->probe(&what))
		return nl_fail_errno(err, errno, "%s %s: this kernel refuses %s",
				     opts->role == NL_GEN ? "send" : "receive", method->name, what);
	code = engine->probe ? engine->probe(opts, err) : NL_OK;
	if (code)
		return code;
	*out = (struct nl_choice){.engine = engine,
				  .method = method,
				  .threads = threads,
				  .blocking = engine->one_stream,
				  .batch = batch_of(opts, threads),
				  .delays_reads = delays_reads_of(opts)};
	return NL_OK;
}
