/* The last step before the data: the sink sends G on every stream, the gen waits for it. */
#include "base/clock.h"
#include "base/error.h"
#include "net/sock.h"
#include "run/run.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int nl_sink_go(struct nl_run *run, struct nl_err *err)
{
	for (uint64_t i = 0; i < run->opts.streams; i++)
		if (send(run->transfer.stream[i].fd, "G", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
			return nl_fail_errno(err, errno, "stream %llu vanished before the start",
					     (unsigned long long)i);
	return NL_OK;
}

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
			return nl_fail(err, NL_TIMEOUT, "%s port %u did not release the streams within %llu ms",
				       run->opts.address, (unsigned)run->opts.port,
				       (unsigned long long)run->opts.connect_ms);
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
