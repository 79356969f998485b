#include "io/worker.h"

#include "base/clock.h"
#include "base/error.h"
#include "io/stream.h"
#include "net/sock.h"
#include "net/sockopts.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

enum { STACK_B = 256 * 1024 };

static void describe_stream(struct nl_transfer *transfer, const struct nl_stream *stream)
{
	struct nl_stream_report *out = &transfer->report[stream->id];

	nl_sock_describe(nl_stream_data_fd(stream), out);
	nl_affinity_describe(nl_stream_data_fd(stream), out);
	if (stream->flow)
		nl_flow_describe(stream->flow, transfer->opts, out);
	else
		out->has_tcp = nl_tcpinfo_read(stream->fd, &out->tcp) == 0;
}

static void end_stream(struct nl_worker *worker, struct nl_stream *stream, int described)
{
	if (!described)
		describe_stream(worker->transfer, stream);
	stream->phase = NL_ENDED;
	worker->open--;
}

void nl_worker_moved(struct nl_worker *worker, struct nl_stream *stream, int errnum)
{
	int sends = nl_worker_sends(worker);

	stream->errnum = errnum;
	stream->t_end_ns = nl_now_ns();
	if (!sends)
		describe_stream(worker->transfer, stream);
	if (!errnum && shutdown(stream->fd, SHUT_WR) && errno != ENOTCONN)
		stream->errnum = errno;
	if (sends && !stream->errnum) {
		stream->phase = NL_CLOSING;
		return;
	}
	end_stream(worker, stream, !sends);
}

/* End a stream that is NL_CLOSING; n is the result of reading from it, errnum its errno. */
static void close_stream(struct nl_worker *worker, struct nl_stream *stream, ssize_t n, int errnum)
{
	const struct nl_io_method *method = worker->ctx.method;

	if (n != 0)
		stream->errnum = n > 0 ? EPROTO : errnum;
	if (method->reap)
		method->reap(stream);
	end_stream(worker, stream, 0); /* by now all data are acknowledged */
}

void nl_worker_await_close(struct nl_worker *worker, struct nl_stream *stream)
{
	char byte;
	ssize_t n;

	/* the sink closes after its last byte: by then all data are acknowledged */
	do
		n = recv(stream->fd, &byte, 1, 0);
	while (n < 0 && errno == EINTR);
	if (n >= 0 || errno != EAGAIN)
		close_stream(worker, stream, n, errno);
}

int nl_transfer_over(struct nl_transfer *transfer)
{
	uint64_t end_ns = atomic_load_explicit(&transfer->end_ns, memory_order_relaxed);
	uint64_t now = end_ns ? nl_now_ns() : 0;
	char byte;

	if (atomic_load_explicit(&transfer->quit, memory_order_relaxed))
		return 1;
	if (!end_ns || now < end_ns)
		return 0;
	if (now < end_ns + NL_SINK_LATE_MS * NL_NS_PER_MS &&
	    recv(transfer->control, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN)
		return 0;
	atomic_store(&transfer->quit, 1);
	return 1;
}

static uint8_t *buffer_of(const struct nl_worker *worker)
{
	const struct nl_transfer *transfer = worker->transfer;

	if (transfer->method->buffer == NL_BUFFER_NONE)
		return NULL;
	if (transfer->method->buffer == NL_BUFFER_SHARED)
		return transfer->buffers;
	return transfer->buffers + worker->id * transfer->stride_B;
}

static int worker_prepare(struct nl_worker *worker)
{
	struct nl_transfer *transfer = worker->transfer;
	const struct nl_io_method *method = transfer->method;
	uint8_t *buffer = buffer_of(worker);
	int errnum;

	/* first touch by the thread that writes there */
	if (buffer && method->buffer == NL_BUFFER_OWN)
		memset(buffer, 0, transfer->opts->record_B);
	errnum = nl_io_ctx_open(&worker->ctx, method, transfer->opts->record_B, buffer, transfer->file);
	for (uint64_t i = 0; !errnum && method->attach && i < nl_worker_streams(worker); i++)
		errnum = method->attach(&worker->ctx, nl_worker_stream(worker, i));
	if (!errnum && transfer->engine->prepare)
		errnum = transfer->engine->prepare(worker);
	return errnum;
}

/* The engine failed: end all streams. */
static void give_up(struct nl_worker *worker, int errnum)
{
	for (uint64_t i = 0; i < nl_worker_streams(worker); i++) {
		struct nl_stream *stream = nl_worker_stream(worker, i);

		if (stream->phase == NL_ENDED)
			continue;
		if (stream->phase == NL_CLOSING)
			close_stream(worker, stream, -1, errnum);
		else
			nl_worker_moved(worker, stream, errnum);
	}
}

/* A NIC may hold memory for a moment after its bytes were acknowledged. */
static void await_zc_completions(struct nl_worker *worker)
{
	const struct nl_io_method *method = worker->transfer->method;
	uint64_t until_ns = nl_now_ns() + NL_ZC_WAIT_MS * NL_NS_PER_MS;
	struct timespec moment = nl_timespec(NL_NS_PER_MS);

	for (uint64_t i = 0; method->reap && i < nl_worker_streams(worker); i++) {
		struct nl_stream *stream = nl_worker_stream(worker, i);

		for (;;) {
			method->reap(stream);
			if (!nl_zc_pending_any(stream) || nl_now_ns() >= until_ns)
				break;
			nanosleep(&moment, NULL);
		}
	}
}

static void *worker_thread(void *argument)
{
	struct nl_worker *worker = argument;
	struct nl_transfer *transfer = worker->transfer;
	const struct nl_engine *engine = transfer->engine;
	sigset_t pipe_signal;
	uint64_t before_ns, waited_ns;
	int errnum;

	/* sendfile and splice lack MSG_NOSIGNAL; SIGPIPE goes to the calling thread */
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL);
	/* SCHED_BATCH: a thread that wakes does not preempt the running one, so a gen and a sink that
	 * share CPUs move larger batches. Optional: a failure is ignored. */
	if (transfer->policy.sched_batch)
		sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
	/* before memory is touched, so that it is allocated near its CPU */
	worker->errnum = nl_affinity_apply(&transfer->affinity, worker->id,
					   nl_stream_data_fd(&transfer->stream[worker->id]));
	worker->open = nl_worker_streams(worker);
	for (uint64_t i = 0; i < nl_worker_streams(worker); i++) {
		struct nl_stream *stream = nl_worker_stream(worker, i);

		nl_sockopts_describe(nl_stream_data_fd(stream), &transfer->report[stream->id]);
	}
	errnum = worker_prepare(worker);
	before_ns = nl_thread_waited_ns();
	pthread_mutex_lock(&transfer->lock);
	transfer->ready++;
	pthread_cond_broadcast(&transfer->changed);
	while (!transfer->released)
		pthread_cond_wait(&transfer->changed, &transfer->lock);
	pthread_mutex_unlock(&transfer->lock);

	if (errnum)
		give_up(worker, errnum);
	while (worker->open > 0) {
		errnum = engine->wait ? engine->wait(worker) : 0;
		if (errnum)
			give_up(worker, errnum);
		else
			engine->transfer(worker);
	}
	if (engine->finish)
		engine->finish(worker);
	waited_ns = nl_thread_waited_ns(); /* 0 also if there is no file descriptor left */
	worker->waited_ns = waited_ns > before_ns ? waited_ns - before_ns : 0;
	await_zc_completions(worker);
	nl_io_ctx_close(&worker->ctx);

	pthread_mutex_lock(&transfer->lock);
	worker->ended = 1;
	if (--transfer->live == 0)
		pthread_cond_broadcast(&transfer->changed);
	pthread_mutex_unlock(&transfer->lock);
	return NULL;
}

void nl_workers_release(struct nl_transfer *transfer)
{
	pthread_mutex_lock(&transfer->lock);
	transfer->released = 1;
	pthread_cond_broadcast(&transfer->changed);
	pthread_mutex_unlock(&transfer->lock);
}

void nl_workers_shut(struct nl_transfer *transfer, int how)
{
	atomic_store(&transfer->quit, 1);
	for (uint64_t i = 0; i < transfer->opts->streams; i++)
		shutdown(transfer->stream[i].fd, how);
}

void nl_workers_follow(struct nl_transfer *transfer, struct nl_worker *worker)
{
	if (!transfer->affinity.follow)
		return;
	/* no thread ends under the lock: the id of an ended one is invalid */
	pthread_mutex_lock(&transfer->lock);
	for (uint64_t i = 0; i < transfer->threads; i++) {
		if (worker[i].ended || !nl_affinity_follow(&transfer->affinity, worker[i].thread,
							   nl_stream_data_fd(&transfer->stream[worker[i].id])))
			continue;
		for (uint64_t k = 0; k < nl_worker_streams(&worker[i]); k++)
			transfer->report[nl_worker_stream(&worker[i], k)->id].moves++;
	}
	pthread_mutex_unlock(&transfer->lock);
}

void nl_workers_join(struct nl_transfer *transfer, struct nl_worker *worker, uint64_t started)
{
	nl_workers_release(transfer);
	for (uint64_t i = 0; i < started; i++)
		pthread_join(worker[i].thread, NULL);
}

int nl_workers_start(struct nl_transfer *transfer, struct nl_worker *worker, uint64_t *started,
		     int *refused, struct nl_err *err)
{
	uint64_t threads = transfer->threads;
	pthread_attr_t attributes;
	int errnum = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_B);
	transfer->live = threads;
	for (*started = 0; *started < threads; (*started)++) {
		struct nl_worker *w = &worker[*started];

		*w = (struct nl_worker){.transfer = transfer, .id = *started,
					.ctx = {.file = -1, .pipe_out = -1, .pipe_in = -1}};
		errnum = pthread_create(&w->thread, &attributes, worker_thread, w);
		if (errnum)
			break;
	}
	pthread_attr_destroy(&attributes);
	if (errnum)
		return nl_fail_errno(err, errnum, "thread %" PRIu64 " of %" PRIu64, *started + 1, threads);
	pthread_mutex_lock(&transfer->lock);
	while (transfer->ready < threads)
		pthread_cond_wait(&transfer->changed, &transfer->lock);
	pthread_mutex_unlock(&transfer->lock);
	for (uint64_t i = 0; i < threads && !*refused; i++)
		*refused = worker[i].errnum;
	if (*refused && (transfer->opts->cpus[0] || transfer->opts->spread == NL_SWITCH_ON))
		return nl_fail_option(err, transfer->opts->cpus[0] ? "cpus" : "spread", *refused,
				      "sched_setaffinity, to pin a thread");
	return NL_OK;
}
