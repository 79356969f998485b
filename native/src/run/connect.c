/* The gen's connect phase: connect every stream and send its hello. */
#include "base/clock.h"
#include "base/error.h"
#include "net/hello.h"
#include "net/sock.h"
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
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
