#include "worker.h"

#include "error.h"
#include "sock.h"
#include "sockopts.h"
#include "tcpinfo.h"

#include <sys/socket.h>

enum { STACK_B = 256 * 1024 };

static void describe(struct nl_run *run, uint64_t id)
{
	struct nl_stream *stream = &run->stream[id];
	struct nl_stream_report *out = &run->report.per_stream[id];

	nl_sock_describe(stream->fd, out);
	nl_placement_describe(stream->fd, out);
	out->has_tcp = nl_tcpinfo_read(stream->fd, &out->tcp) == 0;
}

static void *work(void *argument)
{
	struct nl_worker *worker = argument;
	struct nl_run *run = worker->run;
	struct nl_stream *stream = &run->stream[worker->id];
	const struct nl_engine *engine = run->engine;
	int is_sink = run->opts.role == NL_SINK;

	/* before memory is touched, so that it lies close to its CPU */
	worker->errnum = nl_placement_settle(&run->placement, worker->id, stream->fd);
	nl_sockopts_describe(stream->fd, &run->report.per_stream[worker->id]);
	stream->errnum = engine->prepare(stream);
	pthread_mutex_lock(&run->lock);
	run->ready++;
	pthread_cond_broadcast(&run->changed);
	while (!run->released)
		pthread_cond_wait(&run->changed, &run->lock);
	pthread_mutex_unlock(&run->lock);

	if (!stream->errnum)
		stream->errnum = engine->transfer(stream);
	stream->t_end_ns = nl_now_ns();
	if (is_sink)
		describe(run, worker->id);
	if (!stream->errnum)
		stream->errnum = engine->finish(stream);
	if (!is_sink) /* only now has everything been acknowledged */
		describe(run, worker->id);

	pthread_mutex_lock(&run->lock);
	worker->ended = 1;
	if (--run->live == 0)
		pthread_cond_broadcast(&run->changed);
	pthread_mutex_unlock(&run->lock);
	return NULL;
}

void nl_workers_release(struct nl_run *run)
{
	pthread_mutex_lock(&run->lock);
	run->released = 1;
	pthread_cond_broadcast(&run->changed);
	pthread_mutex_unlock(&run->lock);
}

void nl_workers_shut(struct nl_run *run, int how)
{
	atomic_store(&run->quit, 1);
	for (uint64_t i = 0; i < run->opts.streams; i++)
		shutdown(run->stream[i].fd, how);
}

void nl_workers_follow(struct nl_run *run, struct nl_worker *worker)
{
	if (!run->placement.follow)
		return;
	/* under the lock no thread ends: one that has may not be named any more */
	pthread_mutex_lock(&run->lock);
	for (uint64_t i = 0; i < run->opts.streams; i++)
		if (!worker[i].ended && nl_placement_follow(&run->placement, worker[i].thread,
							     run->stream[worker[i].id].fd))
			run->report.per_stream[worker[i].id].moves++;
	pthread_mutex_unlock(&run->lock);
}

void nl_workers_join(struct nl_run *run, struct nl_worker *worker, uint64_t started)
{
	nl_workers_release(run);
	for (uint64_t i = 0; i < started; i++)
		pthread_join(worker[i].thread, NULL);
}

int nl_workers_start(struct nl_run *run, struct nl_worker *worker, uint64_t *started,
		     struct nl_err *err)
{
	pthread_attr_t attributes;
	int errnum = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_B);
	run->live = run->opts.streams;
	for (*started = 0; *started < run->opts.streams; (*started)++) {
		struct nl_worker *w = &worker[*started];

		*w = (struct nl_worker){.run = run, .id = *started};
		errnum = pthread_create(&w->thread, &attributes, work, w);
		if (errnum)
			break;
	}
	pthread_attr_destroy(&attributes);
	if (errnum)
		return nl_fail_errno(err, errnum, "thread of stream %llu",
				     (unsigned long long)*started);
	pthread_mutex_lock(&run->lock);
	while (run->ready < run->opts.streams)
		pthread_cond_wait(&run->changed, &run->lock);
	pthread_mutex_unlock(&run->lock);
	for (uint64_t i = 0; i < run->opts.streams; i++)
		if (worker[i].errnum)
			return nl_fail_option(err, "cpus", worker[i].errnum,
					      "CPU of the thread of stream %llu", (unsigned long long)i);
	return NL_OK;
}
