/* The gen's connect phase: connect every stream, send its hello, and wait for the sink's G, the last step
 * before the data. */
#include "base/clock.h"
#include "base/error.h"
#include "net/hello.h"
#include "net/sock.h"
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* More at once would overflow the sink's backlog and delay a retry by one second. */
enum { CONNECTING_MAX = 128 };

struct connector {
	struct nl_run *run;
	struct nl_address to;
	struct pollfd *poll;      /* [streams + 1]; the last is the wake-up */
	uint64_t opened, greeted; /* streams with a socket; streams that have sent their hello */
};

static int send_hello(struct connector *connector, uint64_t id, struct nl_err *err)
{
	const struct nl_run_opts *opts = &connector->run->opts;
	struct nl_hello hello = {.run = opts->run, .stream = (uint32_t)id};
	uint8_t bytes[NL_HELLO_B];
	int fd = connector->run->transfer.stream[id].fd, error = 0;
	socklen_t len = sizeof(error);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error)
		return nl_fail_errno(err, error, "connect to %s port %u", opts->address,
				     (unsigned)opts->port);
	memcpy(hello.token, opts->token, sizeof(hello.token));
	nl_hello_write(bytes, &hello);
	/* an empty send buffer has room for 64 bytes */
	if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) != (ssize_t)sizeof(bytes))
		return nl_fail_errno(err, errno, "hello of stream %llu", (unsigned long long)id);
	connector->poll[id].fd = -1;
	connector->greeted++;
	return NL_OK;
}

static int open_next(struct connector *connector, struct nl_err *err)
{
	const struct nl_run_opts *opts = &connector->run->opts;
	uint64_t id = connector->opened;
	struct nl_stream *stream = &connector->run->transfer.stream[id];
	int code = nl_sock_new(opts, &connector->to, id, &stream->fd, err);

	if (code)
		return code;
	connector->opened++;
	if (opts->from[0])
		code = nl_sock_bind_from(stream->fd, opts, err);
	if (code)
		return code;
	if (connect(stream->fd, (struct sockaddr *)&connector->to.storage, connector->to.len) &&
	    errno != EINPROGRESS)
		return nl_fail_errno(err, errno, "connect to %s port %u", opts->address,
				     (unsigned)opts->port);
	connector->poll[id] = (struct pollfd){.fd = stream->fd, .events = POLLOUT};
	return NL_OK;
}

static int fail_timeout(const struct nl_run *run, const char *what, struct nl_err *err)
{
	return nl_fail(err, NL_TIMEOUT, "%s port %u did not %s within %llu ms", run->opts.address,
		       (unsigned)run->opts.port, what, (unsigned long long)run->opts.connect_ms);
}

/* Wait for any of count streams, or the wake-up. */
static int wait_for_sink(struct connector *connector, uint64_t first, uint64_t count,
			 uint64_t deadline_ns, struct nl_err *err)
{
	struct nl_run *run = connector->run;
	int n;

	/* the wake-up follows the last polled stream */
	connector->poll[first + count] = (struct pollfd){.fd = run->wake, .events = POLLIN};
	n = poll(connector->poll + first, count + 1, nl_poll_ms(deadline_ns));
	if (n < 0 && errno != EINTR)
		return nl_fail_errno(err, errno, "poll");
	if (n == 0)
		return fail_timeout(run, "answer", err);
	return NL_OK;
}

static int connect_all(struct connector *connector, uint64_t deadline_ns, struct nl_err *err)
{
	struct nl_run *run = connector->run;
	uint64_t oldest = 0;
	int code = NL_OK;

	while (connector->greeted < run->opts.streams) {
		while (!code && connector->opened < run->opts.streams &&
		       connector->opened - connector->greeted < CONNECTING_MAX)
			code = open_next(connector, err);
		while (oldest < connector->opened && connector->poll[oldest].fd < 0)
			oldest++;
		if (!code)
			code = wait_for_sink(connector, oldest, connector->opened - oldest, deadline_ns, err);
		if (code || atomic_load(&run->stop_requested))
			return code;
		for (uint64_t i = oldest; !code && i < connector->opened; i++)
			if (connector->poll[i].fd >= 0 && connector->poll[i].revents)
				code = send_hello(connector, i, err);
	}
	return code;
}

static int connector_init(struct connector *connector, struct nl_run *run, struct nl_err *err)
{
	*connector = (struct connector){.run = run};
	connector->poll = calloc(run->opts.streams + 1, sizeof(*connector->poll));
	return connector->poll ? NL_OK : nl_fail_errno(err, ENOMEM, "memory to connect streams");
}

int nl_gen_connect(struct nl_run *run, struct nl_err *err)
{
	uint64_t deadline_ns = nl_now_ns() + run->opts.connect_ms * NL_NS_PER_MS;
	struct connector connector;
	int code = connector_init(&connector, run, err);

	if (code)
		return code;
	if (nl_address_parse(run->opts.address, run->opts.port, &connector.to))
		code = nl_fail_key(err, "to", "%s is not a numeric address", run->opts.address);
	else
		code = connect_all(&connector, deadline_ns, err);
	free(connector.poll);
	return code;
}

/* -- the start ---------------------------------------------------------------------- */

/* *released is set when the stream has received its G. */
static int receive_go(struct nl_run *run, uint64_t id, int *released, struct nl_err *err)
{
	char byte;
	ssize_t n = recv(run->transfer.stream[id].fd, &byte, 1, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return NL_OK;
	if (n < 0)
		return nl_fail_errno(err, errno, "stream %llu before its start",
				     (unsigned long long)id);
	if (n == 0)
		return nl_fail(err, NL_PEER, "the sink closed stream %llu before its start",
			       (unsigned long long)id);
	if (byte != 'G')
		return nl_fail(err, NL_PEER, "the sink sent byte %d instead of G", byte);
	if (run->blocking && nl_sock_blocking(run->transfer.stream[id].fd))
		return nl_fail_errno(err, errno, "fcntl");
	*released = 1;
	return NL_OK;
}

enum { EVENTS = 256 };

static int await_go(struct nl_run *run, int set, uint64_t deadline_ns, struct nl_err *err)
{
	struct epoll_event event[EVENTS], wake = {.events = EPOLLIN, .data.u64 = run->opts.streams};
	uint64_t left = run->opts.streams;
	int code = NL_OK;

	if (epoll_ctl(set, EPOLL_CTL_ADD, run->wake, &wake))
		return nl_fail_errno(err, errno, "epoll_ctl");
	for (uint64_t i = 0; i < run->opts.streams; i++) {
		struct epoll_event event_in = {.events = EPOLLIN, .data.u64 = i};

		if (epoll_ctl(set, EPOLL_CTL_ADD, run->transfer.stream[i].fd, &event_in))
			return nl_fail_errno(err, errno, "epoll_ctl");
	}
	while (!code && left > 0 && !atomic_load(&run->stop_requested)) {
		int n = epoll_wait(set, event, EVENTS, nl_poll_ms(deadline_ns));

		if (n < 0 && errno != EINTR)
			return nl_fail_errno(err, errno, "epoll_wait");
		if (n == 0)
			return fail_timeout(run, "release the streams", err);
		for (int i = 0; !code && i < n; i++) {
			uint64_t id = event[i].data.u64;
			int released = 0;

			if (id == run->opts.streams)
				continue;
			code = receive_go(run, id, &released, err);
			if (released) {
				epoll_ctl(set, EPOLL_CTL_DEL, run->transfer.stream[id].fd, &event[i]);
				left--;
			}
		}
	}
	return code;
}

int nl_gen_go(struct nl_run *run, uint64_t deadline_ns, struct nl_err *err)
{
	int code, set = epoll_create1(EPOLL_CLOEXEC);

	if (set < 0)
		return nl_fail_errno(err, errno, "epoll_create1");
	code = await_go(run, set, deadline_ns, err);
	run->report.t_let_go_ns = nl_now_ns();
	close(set);
	return code;
}
