#include "run/run.h"

#include "base/clock.h"
#include "base/dealt.h"
#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "io/engine.h"
#include "io/worker.h"
#include "net/sock.h"
#include "net/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAGE_B = 4096, HUGE_PAGE_B = 2 << 20 };

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

void *nl_pages_map(uint64_t *len_B, int huge)
{
	uint64_t unit_B = huge ? HUGE_PAGE_B : PAGE_B, extra_B = huge ? HUGE_PAGE_B : 0, before;
	uint8_t *memory;

	/* a size may have 32 bits only, and would be cut */
	if (*len_B > SIZE_MAX - 2 * HUGE_PAGE_B) {
		errno = ENOMEM;
		return NULL;
	}
	*len_B = round_up(*len_B, unit_B);
	memory = mmap(NULL, *len_B + extra_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	if (!huge)
		return memory;
	/* a huge page is aligned to its size: unmap the rest of the extra one */
	before = round_up((uintptr_t)memory, HUGE_PAGE_B) - (uintptr_t)memory;
	if (before > 0)
		munmap(memory, before);
	if (before < HUGE_PAGE_B)
		munmap(memory + before + *len_B, HUGE_PAGE_B - before);
	madvise(memory + before, *len_B, MADV_HUGEPAGE);
	return memory + before;
}

/* the backlog has room for stray connections beside the streams */
enum { BACKLOG_SPARE = 1024 };

/* a receive buffer has fewer datagrams, unless a flood fills it as it is read */
enum { READ_MOST = 65536 };

static int open_buffers(struct nl_transfer *transfer, struct nl_err *err)
{
	const struct nl_io_method *method = transfer->method;
	uint64_t n = method->buffer == NL_BUFFER_SHARED ? 1 : transfer->threads;
	uint64_t record_B = transfer->opts->record_B;
	void *memory;

	if (method->buffer == NL_BUFFER_NONE)
		return NL_OK;
	transfer->stride_B = round_up(record_B, PAGE_B);
	transfer->buffers_B = transfer->stride_B * n;
	if (method->needs_file) {
		transfer->file = memfd_create("netlab-pattern", MFD_CLOEXEC);
		if (transfer->file < 0 || ftruncate(transfer->file, (off_t)record_B))
			return nl_fail_errno(err, errno, "a file in memory of %" PRIu64 " B", record_B);
		memory = mmap(NULL, transfer->buffers_B, PROT_READ | PROT_WRITE, MAP_SHARED,
			      transfer->file, 0);
		if (memory == MAP_FAILED)
			memory = NULL;
	} else {
		memory = nl_pages_map(&transfer->buffers_B, method->huge_pages);
	}
	if (!memory)
		return nl_fail_errno(err, errno, "memory for %" PRIu64 " records of %" PRIu64 " B", n, record_B);
	transfer->buffers = memory;
	for (uint64_t i = 0; transfer->opts->role == NL_GEN && i < record_B; i++)
		transfer->buffers[i] = (uint8_t)i;
	return NL_OK;
}

static int open_streams(struct nl_run *run, struct nl_err *err)
{
	struct nl_transfer *transfer = &run->transfer;
	uint64_t n = run->opts.streams;

	transfer->stream = aligned_alloc(NL_CACHE_LINE_B, n * sizeof(*transfer->stream));
	transfer->report = run->report.per_stream = calloc(n, sizeof(*transfer->report));
	run->flow = run->opts.udp ? calloc(n, sizeof(*run->flow)) : NULL;
	if (!transfer->stream || !transfer->report || (run->opts.udp && !run->flow))
		return nl_fail_errno(err, ENOMEM, "memory for %" PRIu64 " streams", n);
	memset(transfer->stream, 0, n * sizeof(*transfer->stream));
	for (uint64_t i = 0; i < n; i++) {
		struct nl_stream *stream = &transfer->stream[i];

		stream->fd = -1;
		stream->id = (uint32_t)i;
		stream->flow = run->flow ? &run->flow[i] : NULL;
		if (stream->flow)
			stream->flow->fd = -1;
		stream->quit = &transfer->quit;
		stream->stamped = run->opts.window_ms == 0;
		stream->left = run->opts.bytes ? run->opts.bytes : UINT64_MAX;
		transfer->report[i].stream = (uint32_t)i;
		transfer->report[i].cpu = transfer->report[i].incoming_cpu = -1;
	}
	return NL_OK;
}

static int choose_engine(struct nl_run *run, struct nl_err *err)
{
	struct nl_report *report = &run->report;
	struct nl_choice choice;
	uint64_t greeting = 0;
	int code = nl_engine_choose(&run->opts, &choice, err);

	if (code)
		return code;
	run->transfer.engine = choice.engine;
	run->transfer.method = choice.method;
	run->transfer.policy = report->policy = choice.policy;
	run->transfer.threads = report->threads = choice.threads;
	run->blocking = choice.blocking;
	snprintf(report->engine, sizeof(report->engine), "%s", choice.engine->name);
	snprintf(report->method, sizeof(report->method), "%s", choice.method->name);
	/* Each thread may open an epoll set, a pipe and a file; one more is the control connection. A sink gives
	 * connections whose hello has not come half of what is left, and would evict its own streams. */
	if (run->opts.role == NL_SINK)
		greeting = 2 * nl_sooner(run->opts.streams, NL_CONNECTING_MAX) + nl_senders(&run->opts) - 1;
	return nl_fd_limit_need(run->opts.streams * (1 + run->opts.udp) + 4 * report->threads + 1 + greeting, err);
}

/* Fail for an interface that cannot be metered. */
static int probe_meter(const char *interface, struct nl_err *err)
{
	struct nl_meter *probe = malloc(sizeof(*probe));
	int code = probe ? nl_meter_read(interface, probe, err)
			 : nl_fail_errno(err, ENOMEM, "memory for a meter snapshot");

	free(probe);
	return code;
}

static int open_all(struct nl_run *run, struct nl_err *err)
{
	struct nl_transfer *transfer = &run->transfer;
	struct nl_policy *policy = &run->report.policy;

	run->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run->wake < 0)
		return nl_fail_errno(err, errno, "eventfd");
	if (choose_engine(run, err) || (run->opts.interface[0] && probe_meter(run->opts.interface, err)) ||
	    nl_affinity_open(&transfer->affinity, &run->opts, err))
		return err->code;
	if (policy->spread)
		policy->spread = nl_affinity_spread(&transfer->affinity, run->report.threads,
						    run->opts.spread == NL_SWITCH_ON);
	if (open_streams(run, err) || open_buffers(transfer, err) ||
	    nl_samples_open(&run->opts, &run->report, err) ||
	    (run->opts.role == NL_SINK && nl_sock_listen(&run->opts, (int)run->opts.streams + BACKLOG_SPARE,
							 &run->listener, &run->port, err)) ||
	    nl_latency_open(run, err) ||
	    (run->opts.role == NL_SINK && run->opts.udp && !run->report.latency[0].interval_ms &&
	     nl_sock_probe(&run->opts, run->port, &run->udp_port, err)))
		return err->code;
	return NL_OK;
}

int nl_run_open(const struct nl_run_opts *opts, struct nl_run **out, struct nl_err *err)
{
	struct nl_run *run;
	int code = nl_run_opts_check(opts, err);

	if (code)
		return code;
	run = calloc(1, sizeof(*run));
	if (!run)
		return nl_fail_errno(err, ENOMEM, "memory for a run");
	run->opts = *opts;
	run->transfer.opts = &run->opts;
	run->listener = run->wake = run->udp_port = run->transfer.file = run->transfer.control = -1;
	for (size_t i = 0; i < NL_SENDERS_MAX; i++)
		run->control[i] = -1;
	run->report.role = (int32_t)opts->role;
	run->report.run = opts->run;
	run->report.streams = opts->streams;
	pthread_mutex_init(&run->transfer.lock, NULL);
	nl_condition_init(&run->transfer.changed);
	code = open_all(run, err);
	if (code) {
		nl_run_free(run);
		return code;
	}
	*out = run;
	return NL_OK;
}

uint32_t nl_run_port(const struct nl_run *run)
{
	return run->port;
}

/* What came to the port of a UDP run for none of its streams: dropped, or not read until now. */
static uint64_t rejected_datagrams(int fd)
{
	uint64_t count = fd < 0 ? 0 : nl_sock_drops(fd);
	char byte;

	for (int i = 0; fd >= 0 && i < READ_MOST && recv(fd, &byte, 1, MSG_DONTWAIT) >= 0; i++)
		count++;
	return count;
}

static void close_streams(struct nl_run *run)
{
	nl_close(&run->transfer.control);
	for (size_t i = 0; i < NL_SENDERS_MAX; i++)
		nl_close(&run->control[i]);
	for (uint64_t i = 0; run->transfer.stream && i < run->opts.streams; i++) {
		nl_close(&run->transfer.stream[i].fd);
		if (run->flow)
			nl_close(&run->flow[i].fd);
	}
}

void nl_run_free(struct nl_run *run)
{
	if (!run)
		return;
	nl_latency_free(run);
	close_streams(run);
	nl_close(&run->listener);
	nl_close(&run->wake);
	nl_close(&run->udp_port);
	nl_close(&run->transfer.file);
	if (run->transfer.buffers)
		munmap(run->transfer.buffers, run->transfer.buffers_B);
	for (uint64_t i = 0; run->transfer.stream && i < run->opts.streams; i++)
		free(run->transfer.stream[i].zc_pending);
	nl_samples_free(&run->report);
	free(run->report.per_stream);
	free(run->flow);
	free(run->transfer.stream);
	pthread_cond_destroy(&run->transfer.changed);
	pthread_mutex_destroy(&run->transfer.lock);
	free(run);
}

int nl_run_execute(struct nl_run *run, struct nl_err *err)
{
	struct nl_err why = {0};
	int code = nl_latency_start(run, &why), stopped;
	uint64_t deadline_ns = nl_now_ns() + run->opts.connect_ms * NL_NS_PER_MS;

	if (!code && run->opts.await_start_ms && !run->on_step)
		code = nl_fail_key(&why, "await_start_ms", "await_start_ms: only a sink of an agent has it");
	if (!code)
		code = run->opts.role == NL_SINK ? nl_sink_accept(run, &why) : nl_gen_connect(run, &why);
	if (!code && run->opts.await_start_ms && !atomic_load(&run->stop_requested))
		code = nl_sink_await_start(run, &why);
	if (!code && !atomic_load(&run->stop_requested))
		code = nl_run_measure(run, deadline_ns, &why);
	run->report.rejected.datagrams = rejected_datagrams(run->udp_port);
	close_streams(run);
	nl_latency_finish(run);
	if (run->report.t_go_ns)
		return NL_OK;
	/* the streams were never released: a sink reports rejected peers, a gen has nothing to
	 * report */
	stopped = atomic_load(&run->stop_requested);
	if (code && run->opts.role == NL_GEN && !stopped) {
		if (err)
			*err = why;
		return code;
	}
	if (stopped)
		nl_fail(&why, NL_OK, "stopped on request");
	run->report.status = stopped ? NL_STATUS_STOPPED
				     : code == NL_TIMEOUT ? NL_STATUS_TIMEOUT : NL_STATUS_ERROR;
	run->report.err = why;
	return NL_OK;
}

void nl_run_stop(struct nl_run *run)
{
	atomic_store(&run->stop_requested, 1);
	/* the eventfd cannot be full: it is written a few times at most */
	(void)!write(run->wake, &(uint64_t){1}, sizeof(uint64_t));
	pthread_mutex_lock(&run->transfer.lock);
	pthread_cond_broadcast(&run->transfer.changed);
	pthread_mutex_unlock(&run->transfer.lock);
}

void nl_run_start(struct nl_run *run)
{
	pthread_mutex_lock(&run->transfer.lock);
	run->start_requested = 1;
	pthread_cond_broadcast(&run->transfer.changed);
	pthread_mutex_unlock(&run->transfer.lock);
}

uint64_t nl_run_progress(const struct nl_run *run, uint64_t *t_ns)
{
	uint64_t bytes = nl_streams_bytes(run->transfer.stream, run->opts.streams);

	if (t_ns)
		*t_ns = nl_now_ns();
	return bytes;
}

const struct nl_report *nl_run_report(const struct nl_run *run)
{
	return &run->report;
}
