/* The engine of a sink's datagrams: each thread has several streams and one epoll set, of the datagrams and of
 * the connection of each. A sink sends nothing by UDP. */
#include "base/clock.h"
#include "base/files.h"
#include "io/udp_end.h"
#include "io/udp_nap.h"
#include "io/udp_reader.h"
#include "io/worker.h"
#include "net/sockopts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

enum { EVENTS = 64 };

struct sink {
	int fd, ready;   /* the epoll set */
	uint64_t ending; /* streams whose gen has ended */
	struct nl_udp_nap nap;
	struct nl_udp_reader *reader;
	struct epoll_event event[EVENTS];
};

static int sink_prepare(struct nl_worker *worker)
{
	const struct nl_run_opts *opts = worker->transfer->opts;
	struct sink *sink = worker->own = calloc(1, sizeof(*sink));
	int number_B = sizeof(uint64_t);

	if (!sink)
		return ENOMEM;
	sink->fd = epoll_create1(EPOLL_CLOEXEC);
	if (sink->fd < 0)
		return errno;
	sink->reader = nl_udp_reader_new(opts);
	if (!sink->reader)
		return ENOMEM;
	for (uint64_t i = 0; i < nl_worker_streams(worker); i++) {
		const struct nl_stream *stream = nl_worker_stream(worker, i);
		/* twice the stream's place in the thread, plus 1 for its connection */
		struct epoll_event of_data = {EPOLLIN, {.u64 = 2 * i}}, of_end = {EPOLLIN, {.u64 = 2 * i + 1}};

		nl_udp_nap_begin(&sink->nap, nl_sockopts_number(stream->flow->fd, SOL_SOCKET, SO_RCVBUF),
				 opts->gro != 0);
		/* not ready before the whole number of datagrams has come, or the end */
		setsockopt(stream->fd, SOL_SOCKET, SO_RCVLOWAT, &number_B, sizeof(number_B));
		if (epoll_ctl(sink->fd, EPOLL_CTL_ADD, stream->flow->fd, &of_data) ||
		    epoll_ctl(sink->fd, EPOLL_CTL_ADD, stream->fd, &of_end))
			return errno;
	}
	prctl(PR_SET_TIMERSLACK, 1UL); /* of this thread; by default 50 us */
	return 0;
}

static int sink_wait(struct nl_worker *worker)
{
	struct sink *sink = worker->own;
	struct nl_udp_nap *nap = &sink->nap;
	int awake = nap->due && nap->joined;
	uint64_t until_ns = awake ? nl_now_ns() + NL_UDP_AWAKE_NS : 0;
	int timeout_ms = nap->due ? 0 : sink->ending ? NL_UDP_ENDING_MS : -1;

	if (nap->due && !awake)
		nanosleep(&(struct timespec){.tv_nsec = (long)nap->sleep_ns}, NULL);
	do
		sink->ready = epoll_wait(sink->fd, sink->event, EVENTS, timeout_ms);
	while (sink->ready == 0 && awake && nl_now_ns() < until_ns);
	nap->due = 0;
	return sink->ready >= 0 || errno == EINTR ? 0 : errno;
}

static void sink_end(struct nl_worker *worker, struct nl_stream *stream, int errnum)
{
	struct sink *sink = worker->own;
	struct nl_flow *flow = stream->flow;

	if (!errnum && flow->quiet_ns && nl_sequence_end(&flow->sequence, flow->sequence.count.sent))
		errnum = EPROTO; /* more datagrams than the gen says it sent */
	sink->ending -= flow->quiet_ns != 0;
	epoll_ctl(sink->fd, EPOLL_CTL_DEL, flow->fd, NULL);
	epoll_ctl(sink->fd, EPOLL_CTL_DEL, stream->fd, NULL);
	nl_worker_moved(worker, stream, errnum);
}

static void sink_receive_end(struct nl_worker *worker, struct nl_stream *stream)
{
	struct sink *sink = worker->own;
	int errnum = nl_udp_end_receive(stream, worker->transfer->opts);

	if (errnum > 0)
		sink_end(worker, stream, nl_stream_quitting(stream) ? 0 : errnum);
	if (errnum)
		return;
	sink->ending++;
	epoll_ctl(sink->fd, EPOLL_CTL_DEL, stream->fd, NULL);
}

static void sink_end_if_quiet(struct nl_worker *worker, struct nl_stream *stream)
{
	struct sink *sink = worker->own;

	if (nl_udp_read(sink->reader, stream)) /* a thread without a CPU is not silence */
		nl_udp_end_postpone(stream->flow);
	if (nl_udp_end_reached(stream->flow) || nl_stream_quitting(stream))
		sink_end(worker, stream, 0);
}

static void sink_transfer(struct nl_worker *worker)
{
	struct sink *sink = worker->own;
	uint64_t now = nl_now_ns();
	int much = 0;

	for (int i = 0; i < sink->ready; i++) {
		struct nl_stream *stream = nl_worker_stream(worker, sink->event[i].data.u64 / 2);

		if (sink->event[i].data.u64 % 2 && stream->phase == NL_MOVING)
			sink_receive_end(worker, stream);
		else if (stream->phase == NL_MOVING && !stream->flow->quiet_ns)
			much |= nl_udp_read(sink->reader, stream) > sink->nap.much_B;
	}
	nl_udp_nap_turn(&sink->nap, now, sink->ready > 0, much);
	for (uint64_t i = 0; sink->ending && i < nl_worker_streams(worker); i++) {
		struct nl_stream *stream = nl_worker_stream(worker, i);

		if (stream->phase == NL_MOVING && stream->flow->quiet_ns)
			sink_end_if_quiet(worker, stream);
	}
}

static void sink_finish(struct nl_worker *worker)
{
	struct sink *sink = worker->own;

	if (!sink)
		return;
	nl_close(&sink->fd);
	free(sink->reader);
	free(sink);
}

const struct nl_engine nl_engine_udp_sink = {
	.name = "udp", .prepare = sink_prepare, .wait = sink_wait, .transfer = sink_transfer,
	.finish = sink_finish,
};

const struct nl_io_method nl_io_udp_receive[] = {{.name = "recvmmsg"}, {.name = "gro"}};
