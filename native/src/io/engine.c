#include "io/engine.h"

#include "base/error.h"
#include "base/files.h"
#include "io/affinity.h"
#include "io/io_method.h"
#include "io/worker.h"
#include "net/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* CPUs that this process may use: fewer than the machine has under taskset or in a container. */
static uint64_t cpus_allowed(void)
{
	uint64_t cpus = nl_affinity_allowed();

	return cpus ? cpus : 1;
}

/* Limits of one thread per stream: beyond, its memory and scheduling cost throughput. Below two
 * streams per CPU, sets would be uneven. */
enum { BLOCKING_BEST = 32, SET_BEST_A_CPU = 2 };

static const struct nl_engine *engine_of(const struct nl_run_opts *opts)
{
	static const struct nl_engine *const engine[] = {
		[NL_ENGINE_BLOCKING] = &nl_engine_blocking,
		[NL_ENGINE_EPOLL] = &nl_engine_epoll,
		[NL_ENGINE_PLAIN] = &nl_engine_plain,
	};
	int few = opts->streams <= BLOCKING_BEST && opts->streams < SET_BEST_A_CPU * cpus_allowed();

	if (opts->udp)
		return opts->role == NL_GEN ? &nl_engine_udp_gen : &nl_engine_udp_sink;
	if (opts->engine == NL_ENGINE_AUTO)
		return few ? &nl_engine_blocking : &nl_engine_epoll;
	return engine[opts->engine];
}

static uint64_t threads_of(const struct nl_run_opts *opts, const struct nl_engine *engine)
{
	uint64_t threads = opts->threads ? opts->threads : cpus_allowed();

	if (engine->one_stream)
		return opts->streams;
	return threads < opts->streams ? threads : opts->streams;
}

/* Egress matters to gens only. */
static struct nl_batch batch_of(const struct nl_run_opts *opts, uint64_t threads)
{
	struct nl_egress egress = {.packet_B = NL_EGRESS_LARGE_B, .queues = 1};
	char name[IFNAMSIZ];

	if (opts->role == NL_GEN && opts->egress[0]) {
		egress = nl_egress_of(opts->egress);
	} else if (opts->role == NL_GEN) {
		nl_egress_name(opts->address, opts->from, name);
		egress = nl_egress_of(name);
	}
	return nl_batch_of(opts->streams, threads, cpus_allowed(), egress);
}

static int switch_is_on(uint64_t word, int by_rule)
{
	return word == NL_SWITCH_AUTO ? by_rule : word == NL_SWITCH_ON;
}

/* The rules of PROTOCOL.md, where the options leave a choice. */
static struct nl_policy policy_of(const struct nl_run_opts *opts, const struct nl_engine *engine,
				  uint64_t threads)
{
	struct nl_batch batch = batch_of(opts, threads);
	/* Delay reads only where every sink may have a CPU without a gen. Not where the run measures the
	 * buffer, and so the window, or the time of the last byte. */
	int delays = engine->one_stream && opts->role == NL_SINK && opts->window_ms > 0 && !opts->buffer_B &&
		     (opts->receive == NL_RECEIVE_COPY || opts->receive == NL_RECEIVE_DISCARD) &&
		     opts->streams < cpus_allowed();

	if (opts->engine == NL_ENGINE_PLAIN || opts->udp)
		return (struct nl_policy){.batch_B = UINT64_MAX, .yield_B = UINT64_MAX};
	return (struct nl_policy){
		.batch_B = opts->batch_B ? opts->batch_B : batch.stream_B,
		.yield_B = opts->yield_B ? opts->yield_B : batch.yield_B,
		.read_delay = switch_is_on(opts->read_delay, delays),
		.sched_batch = switch_is_on(opts->sched_batch, 1),
		.spread = switch_is_on(opts->spread, opts->streams > threads),
	};
}

int nl_engine_choose(const struct nl_run_opts *opts, struct nl_choice *out, struct nl_err *err)
{
	const struct nl_engine *engine = engine_of(opts);
	const struct nl_io_method *method = nl_io_method_of(opts);
	uint64_t threads = threads_of(opts, engine);
	const char *what = "";

	if (method->probe && method->probe(&what))
		return nl_fail_errno(err, errno, "%s %s: this kernel refuses %s",
				     opts->role == NL_GEN ? "send" : "receive", method->name, what);
	if (opts->read_delay == NL_SWITCH_ON && !engine->one_stream)
		return nl_fail_key(err, "read_delay", "read_delay: the %s engine has none", engine->name);
	*out = (struct nl_choice){.engine = engine, .method = method, .threads = threads,
				  .blocking = engine->one_stream &&
					      (opts->role == NL_SINK || engine == &nl_engine_plain),
				  .policy = policy_of(opts, engine, threads)};
	return NL_OK;
}

const struct nl_io_method *nl_io_method_of(const struct nl_run_opts *opts)
{
	if (opts->udp)
		return opts->role == NL_GEN ? &nl_io_udp_send[opts->gso] : &nl_io_udp_receive[opts->gro];
	return opts->role == NL_GEN ? &nl_io_send[opts->send] : &nl_io_receive[opts->receive];
}

int nl_io_ctx_open(struct nl_io_ctx *ctx, const struct nl_io_method *method, uint64_t record_B,
		   uint8_t *buffer, int file)
{
	int errnum;

	*ctx = (struct nl_io_ctx){.method = method, .record_B = record_B, .buffer = buffer,
				   .file = file, .pipe_out = -1, .pipe_in = -1};
	errnum = method->open ? method->open(ctx) : 0;
	if (errnum)
		nl_io_ctx_close(ctx);
	return errnum;
}

void nl_io_ctx_close(struct nl_io_ctx *ctx)
{
	if (ctx->map)
		munmap(ctx->map, ctx->map_B);
	nl_close(&ctx->pipe_out);
	nl_close(&ctx->pipe_in);
	if (ctx->owns_file)
		nl_close(&ctx->file);
	*ctx = (struct nl_io_ctx){.file = -1, .pipe_out = -1, .pipe_in = -1};
}

int nl_io_ctx_pipe(struct nl_io_ctx *ctx)
{
	enum { PIPE_MAX_B = 1 << 20 }; /* the limit for unprivileged processes */
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return errno;
	ctx->pipe_out = ends[0];
	ctx->pipe_in = ends[1];
	/* the largest size allowed; a smaller pipe works with more calls */
	for (int size = PIPE_MAX_B; size > 65536; size /= 2)
		if ((uint64_t)size / 2 < ctx->record_B && fcntl(ends[1], F_SETPIPE_SZ, size) >= 0)
			break;
	return 0;
}

struct nl_batch nl_batch_of(uint64_t streams, uint64_t threads, uint64_t cpus,
			    struct nl_egress egress)
{
	uint64_t at_once = threads < cpus ? threads : cpus;
	int large_packets = egress.packet_B >= NL_EGRESS_LARGE_B;
	struct nl_batch batch = {.stream_B = NL_BATCH_PACKETS * egress.packet_B,
				 .yield_B = NL_BATCH_YIELD_B};

	if (streams == threads)
		batch.yield_B = NL_BATCH_THREAD_B;
	if (large_packets && streams > threads) {
		batch.stream_B = batch.yield_B = NL_BATCH_CACHE_B;
		if (batch.stream_B > NL_BATCH_ROUND_B / streams)
			batch.stream_B = NL_BATCH_ROUND_B / streams;
	}
	if (!large_packets && at_once > egress.queues)
		batch.stream_B = batch.yield_B = NL_BATCH_SHARED_B;
	if (streams <= cpus)
		batch.yield_B = UINT64_MAX;
	return batch;
}
