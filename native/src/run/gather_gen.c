/* The gen's side of the start: connect, say hello, wait to be let go. */
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
#include <unistd.h>

/* More than this many at once would overrun the sink's backlog and wait a second for a retry. */
enum { CONNECTING_MAX = 128 };

struct start {
	struct nl_run *run;
	struct nl_address to;
	struct pollfd *poll;      /* [streams + 1]; the last is the wake-up */
	uint64_t opened, greeted; /* streams with a socket; streams that said hello */
};

static int say_hello(struct start *start, uint64_t id, struct nl_err *err)
{
	const struct nl_run_opts *opts = &start->run->opts;
	struct nl_hello hello = {.run = opts->run, .stream = (uint32_t)id};
	uint8_t bytes[NL_HELLO_B];
	int fd = start->run->stream[id].fd, error = 0;
	socklen_t len = sizeof(error);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error)
		return nl_fail_errno(err, error, "connect to %s port %u", opts->address,
				     (unsigned)opts->port);
	memcpy(hello.token, opts->token, sizeof(hello.token));
	nl_hello_write(bytes, &hello);
	/* an empty send buffer takes 64 bytes whole */
	if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) != (ssize_t)sizeof(bytes))
		return nl_fail_errno(err, errno, "hello of stream %llu", (unsigned long long)id);
	start->poll[id].fd = -1;
	start->greeted++;
	return NL_OK;
}

static int open_next(struct start *start, struct nl_err *err)
{
	const struct nl_run_opts *opts = &start->run->opts;
	uint64_t id = start->opened;
	struct nl_stream *stream = &start->run->stream[id];
	int code = nl_sock_new(opts, &start->to, id, &stream->fd, err);

	if (code)
		return code;
	start->opened++;
	if (connect(stream->fd, (struct sockaddr *)&start->to.storage, start->to.len) &&
	    errno != EINPROGRESS)
		return nl_fail_errno(err, errno, "connect to %s port %u", opts->address,
				     (unsigned)opts->port);
	start->poll[id] = (struct pollfd){.fd = stream->fd, .events = POLLOUT};
	return NL_OK;
}

static int late(const struct nl_run *run, const char *what, struct nl_err *err)
{
	return nl_fail(err, NL_TIMEOUT, "%s port %u did not %s within %llu ms", run->opts.address,
		       (unsigned)run->opts.port, what, (unsigned long long)run->opts.connect_ms);
}

/* Wait for any of count streams, or the wake-up. */
static int wait_for_sink(struct start *start, uint64_t first, uint64_t count, uint64_t deadline_ns,
			 struct nl_err *err)
{
	struct nl_run *run = start->run;
	int n;

	/* the wake-up rides behind the last stream polled */
	start->poll[first + count] = (struct pollfd){.fd = run->wake, .events = POLLIN};
	n = poll(start->poll + first, count + 1, nl_poll_ms(deadline_ns));
	if (n < 0 && errno != EINTR)
		return nl_fail_errno(err, errno, "poll");
	if (n == 0)
		return late(run, "answer", err);
	return NL_OK;
}

static int connect_all(struct start *start, uint64_t deadline_ns, struct nl_err *err)
{
	struct nl_run *run = start->run;
	uint64_t oldest = 0;
	int code = NL_OK;

	while (start->greeted < run->opts.streams) {
		while (!code && start->opened < run->opts.streams &&
		       start->opened - start->greeted < CONNECTING_MAX)
			code = open_next(start, err);
		while (oldest < start->opened && start->poll[oldest].fd < 0)
			oldest++;
		if (!code)
			code = wait_for_sink(start, oldest, start->opened - oldest, deadline_ns, err);
		if (code || atomic_load(&run->told_to_stop))
			return code;
		for (uint64_t i = oldest; !code && i < start->opened; i++)
			if (start->poll[i].fd >= 0 && start->poll[i].revents)
				code = say_hello(start, i, err);
	}
	return code;
}

static int start_new(struct start *start, struct nl_run *run, struct nl_err *err)
{
	*start = (struct start){.run = run};
	start->poll = calloc(run->opts.streams + 1, sizeof(*start->poll));
	return start->poll ? NL_OK : nl_fail_errno(err, ENOMEM, "memory to connect streams");
}

int nl_gen_gather(struct nl_run *run, struct nl_err *err)
{
	uint64_t deadline_ns = nl_now_ns() + run->opts.connect_ms * NL_NS_PER_MS;
	struct start start;
	int code = start_new(&start, run, err);

	if (code)
		return code;
	if (nl_address_parse(run->opts.address, run->opts.port, &start.to))
		code = nl_fail_key(err, "to", "%s is not a numeric address", run->opts.address);
	else
		code = connect_all(&start, deadline_ns, err);
	free(start.poll);
	return code;
}

/* *gone is set when the stream was let go. */
static int hear_go(struct nl_run *run, uint64_t id, int *gone, struct nl_err *err)
{
	char byte;
	ssize_t n = recv(run->stream[id].fd, &byte, 1, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return NL_OK;
	if (n < 0)
		return nl_fail_errno(err, errno, "stream %llu before its start",
				     (unsigned long long)id);
	if (n == 0)
		return nl_fail(err, NL_PEER, "the sink closed stream %llu before its start",
			       (unsigned long long)id);
	if (byte != 'G')
		return nl_fail(err, NL_PEER, "the sink said byte %d, not G", byte);
	if (run->blocking && nl_sock_blocking(run->stream[id].fd))
		return nl_fail_errno(err, errno, "fcntl");
	*gone = 1;
	return NL_OK;
}

enum { EVENTS = 256 };

static int hear_all(struct nl_run *run, int set, uint64_t deadline_ns, struct nl_err *err)
{
	struct epoll_event event[EVENTS], wake = {.events = EPOLLIN, .data.u64 = run->opts.streams};
	uint64_t left = run->opts.streams;
	int code = NL_OK;

	if (epoll_ctl(set, EPOLL_CTL_ADD, run->wake, &wake))
		return nl_fail_errno(err, errno, "epoll_ctl");
	for (uint64_t i = 0; i < run->opts.streams; i++) {
		struct epoll_event said = {.events = EPOLLIN, .data.u64 = i};

		if (epoll_ctl(set, EPOLL_CTL_ADD, run->stream[i].fd, &said))
			return nl_fail_errno(err, errno, "epoll_ctl");
	}
	while (!code && left > 0 && !atomic_load(&run->told_to_stop)) {
		int n = epoll_wait(set, event, EVENTS, nl_poll_ms(deadline_ns));

		if (n < 0 && errno != EINTR)
			return nl_fail_errno(err, errno, "epoll_wait");
		if (n == 0)
			return late(run, "let the streams go", err);
		for (int i = 0; !code && i < n; i++) {
			uint64_t id = event[i].data.u64;
			int gone = 0;

			if (id == run->opts.streams)
				continue;
			code = hear_go(run, id, &gone, err);
			if (gone) {
				epoll_ctl(set, EPOLL_CTL_DEL, run->stream[id].fd, &event[i]);
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
	code = hear_all(run, set, deadline_ns, err);
	run->report.t_let_go_ns = nl_now_ns();
	close(set);
	return code;
}
