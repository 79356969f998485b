/* The gen's connect phase: connect every stream, send its hello, and wait for the sink's G, the last step
 * before the data. */
#include "base/clock.h"
#include "base/dealt.h"
#include "base/error.h"
#include "base/files.h"
#include "net/sock.h"
#include "net/wire.h"
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { EVENTS = 256 };

/* The streams that are waited for, and the control connection, by the number of their hello; and the wake-up, by
 * the number of the probe's, which connects by itself. */
struct waiting {
	struct nl_run *run;
	int set;
	uint64_t deadline_ns, left;
	const char *what; /* the sink did not do in time */
	/* A stream is ready; *done if it need not be waited for any more. NL_OK or an error. */
	int (*take)(struct nl_run *run, uint64_t id, int *done, struct nl_err *err);
};

static int *fd_of(struct nl_run *run, uint64_t id)
{
	return id < run->opts.streams ? &run->transfer.stream[id].fd : &run->transfer.control;
}

static int watch_fd(const struct waiting *w, int fd, uint32_t events, uint64_t id, struct nl_err *err)
{
	struct epoll_event event = {.events = events, .data.u64 = id};

	return epoll_ctl(w->set, EPOLL_CTL_ADD, fd, &event) ? nl_fail_errno(err, errno, "epoll_ctl")
							     : NL_OK;
}

static int waiting_begin(struct waiting *w, uint64_t count, struct nl_err *err)
{
	w->left = count;
	w->set = epoll_create1(EPOLL_CLOEXEC);
	if (w->set < 0)
		return nl_fail_errno(err, errno, "epoll_create1");
	return watch_fd(w, w->run->wake, EPOLLIN, nl_hello_of_probe(&w->run->opts), err);
}

static int wait_for_some(struct waiting *w, struct nl_err *err)
{
	const struct nl_run_opts *opts = &w->run->opts;
	struct epoll_event event[EVENTS];
	int code = NL_OK, n = epoll_wait(w->set, event, EVENTS, nl_poll_ms(w->deadline_ns));

	if (n < 0 && errno != EINTR)
		return nl_fail_errno(err, errno, "epoll_wait");
	if (n == 0)
		return nl_fail(err, NL_TIMEOUT, "%s port %" PRIu64 " did not %s within %" PRIu64 " ms",
			       opts->address, opts->port, w->what, opts->connect_ms);
	for (int i = 0; !code && i < n; i++) {
		uint64_t id = event[i].data.u64;
		int done = 0;

		if (id == nl_hello_of_probe(opts))
			continue;
		code = w->take(w->run, id, &done, err);
		if (done) {
			epoll_ctl(w->set, EPOLL_CTL_DEL, *fd_of(w->run, id), &event[i]);
			w->left--;
		}
	}
	return code;
}

/* The number of a connection's hello: of one of several gens its streams are a part of the sink's. */
static uint32_t hello_of(const struct nl_run_opts *opts, uint64_t id)
{
	uint64_t streams = opts->streams / nl_dealt_count(opts->own_streams) * nl_dealt_streams(opts->own_streams);

	if (id < opts->streams)
		return (uint32_t)nl_dealt_nth(opts->own_streams, id);
	return (uint32_t)(streams + id - opts->streams + opts->sender);
}

int nl_gen_hello(const struct nl_run_opts *opts, int fd, uint64_t id, struct nl_flow *flow, struct nl_err *err)
{
	/* of a UDP run also the hello of a connection without datagrams has a port */
	struct nl_hello hello = {.stream = hello_of(opts, id), .port = (uint16_t)opts->udp};
	uint8_t bytes[NL_HELLO_B];
	int error = 0;
	socklen_t len = sizeof(error);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error)
		return nl_fail_errno(err, error, "connect to %s port %" PRIu64, opts->address, opts->port);
	if (flow && nl_sock_datagrams(opts, fd, &hello.port, &flow->fd, err))
		return err->code;
	nl_hello_write(bytes, opts, &hello);
	/* an empty send buffer has room for 64 bytes */
	if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) != (ssize_t)sizeof(bytes))
		return nl_fail_errno(err, errno, "hello of stream %" PRIu64, id);
	return NL_OK;
}

static int send_hello(struct nl_run *run, uint64_t id, int *done, struct nl_err *err)
{
	struct nl_flow *flow = id < run->opts.streams ? run->transfer.stream[id].flow : NULL;
	int code = nl_gen_hello(&run->opts, *fd_of(run, id), id, flow, err);

	*done = !code;
	return code;
}

static int open_connection(struct waiting *w, uint64_t id, struct nl_err *err)
{
	int *fd = fd_of(w->run, id), code = nl_sock_connect(&w->run->opts, id, fd, err);

	return code ? code : watch_fd(w, *fd, EPOLLOUT, id, err);
}

int nl_gen_connect(struct nl_run *run, struct nl_err *err)
{
	struct waiting w = {.run = run, .what = "answer", .take = send_hello,
			    .deadline_ns = nl_now_ns() + run->opts.connect_ms * NL_NS_PER_MS};
	uint64_t opened = 0, streams = run->opts.streams, all = streams + 1;
	int code = waiting_begin(&w, all, err);

	while (!code && w.left > 0 && !atomic_load(&run->stop_requested)) {
		for (; !code && opened < all && opened + w.left - all < NL_CONNECTING_MAX; opened++)
			code = open_connection(&w, opened < streams ? opened : nl_hello_of_control(&run->opts), err);
		if (!code)
			code = wait_for_some(&w, err);
	}
	nl_close(&w.set);
	return code;
}

static int receive_go(struct nl_run *run, uint64_t id, int *done, struct nl_err *err)
{
	char byte;
	ssize_t n = recv(run->transfer.stream[id].fd, &byte, 1, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return NL_OK;
	if (n < 0)
		return nl_fail_errno(err, errno, "stream %" PRIu64 " before its start", id);
	if (n == 0)
		return nl_fail(err, NL_PEER, "the sink closed stream %" PRIu64 " before its start", id);
	if (byte != 'G')
		return nl_fail(err, NL_PEER, "the sink sent byte %d instead of G", byte);
	if (run->blocking && nl_sock_blocking(run->transfer.stream[id].fd))
		return nl_fail_errno(err, errno, "fcntl");
	*done = 1;
	return NL_OK;
}

int nl_gen_go(struct nl_run *run, uint64_t deadline_ns, struct nl_err *err)
{
	struct waiting w = {.run = run, .what = "release the streams", .take = receive_go,
			    .deadline_ns = deadline_ns};
	int code = waiting_begin(&w, run->opts.streams, err);

	for (uint64_t i = 0; !code && i < run->opts.streams; i++)
		code = watch_fd(&w, run->transfer.stream[i].fd, EPOLLIN, i, err);
	while (!code && w.left > 0 && !atomic_load(&run->stop_requested))
		code = wait_for_some(&w, err);
	run->report.t_let_go_ns = nl_now_ns();
	nl_close(&w.set);
	return code;
}
