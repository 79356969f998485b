/* The sink's side of the start: accept connections that send a valid hello.
 *
 * One poll waits for all, so that a slow or hostile peer delays no other. Connections without a
 * hello are bounded by a number and by the descriptors that the run leaves; the oldest is evicted
 * for a newer one. Connections from another address than opts.from and opts.also_from are closed at once. */
#include "base/process.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "net/sock.h"
#include "net/sockopts.h"
#include "net/wire.h"
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PENDING_MAX = 1024, PENDING_MIN = 4, ACCEPT_BATCH = 256, HELLO_MS = 2000 };

struct pending {
	int fd;
	uint32_t have;
	uint64_t deadline_ns;
	uint8_t hello[NL_HELLO_B];
};

struct acceptor {
	struct nl_run *run;
	struct pending pending[PENDING_MAX]; /* oldest first */
	struct pollfd poll[PENDING_MAX + 2];
	uint32_t count, limit;
	struct nl_address from[NL_SENDERS_MAX]; /* the first of len 0: any */
};

static void pending_drop(struct acceptor *a, uint32_t at)
{
	a->count--;
	memmove(&a->pending[at], &a->pending[at + 1],
		(a->count - at) * sizeof(a->pending[0]));
}

static void pending_reject(struct acceptor *a, uint32_t at, uint64_t *why)
{
	(*why)++;
	close(a->pending[at].fd);
	pending_drop(a, at);
}

/* Give a connection to what its hello names. 0, or -1 if that has one already. */
static int take_over(struct nl_run *run, int fd, const struct nl_hello *hello)
{
	struct nl_stream *stream;

	if (hello->stream == nl_hello_of_probe(&run->opts))
		return nl_latency_take(run, fd);
	if (hello->stream >= nl_hello_of_control(&run->opts)) {
		int *control = &run->control[hello->stream - nl_hello_of_control(&run->opts)];

		if (*control >= 0)
			return -1;
		*control = fd;
		return 0;
	}
	stream = &run->transfer.stream[hello->stream];
	if (stream->fd >= 0)
		return -1;
	stream->fd = fd;
	if (stream->flow)
		stream->flow->port = hello->port;
	run->report.accepted++;
	return 0;
}

static void validate_hello(struct acceptor *a, uint32_t at)
{
	struct nl_run *run = a->run;
	struct nl_rejected *rejected = &run->report.rejected;
	uint64_t *const why[] = {
		[NL_HELLO_MAGIC] = &rejected->magic, [NL_HELLO_VERSION] = &rejected->version,
		[NL_HELLO_RUN] = &rejected->run,     [NL_HELLO_TOKEN] = &rejected->token,
		[NL_HELLO_STREAM] = &rejected->stream,
	};
	struct nl_hello hello = {0};
	enum nl_hello_code code = nl_hello_check(a->pending[at].hello, &run->opts, &hello);

	if (code != NL_HELLO_OK)
		pending_reject(a, at, why[code]);
	else if (take_over(run, a->pending[at].fd, &hello))
		pending_reject(a, at, &rejected->twice);
	else
		pending_drop(a, at);
}

/* Read a pending hello. Returns 1 if the entry is gone and the next one took its index. */
static int read_hello(struct acceptor *a, uint32_t at)
{
	struct pending *p = &a->pending[at];
	ssize_t n = recv(p->fd, p->hello + p->have, NL_HELLO_B - p->have, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		pending_reject(a, at, &a->run->report.rejected.too_short);
		return 1;
	}
	p->have += (uint32_t)n;
	if (p->have < NL_HELLO_B)
		return 0;
	validate_hello(a, at);
	return 1;
}

/* accept() also returns errors of a connection that failed before it was accepted: see accept(2). */
static int lost_connection(int errnum)
{
	return errnum == EINTR || errnum == ECONNABORTED || errnum == EPROTO || errnum == ENETDOWN ||
	       errnum == EHOSTDOWN || errnum == EHOSTUNREACH || errnum == ENETUNREACH;
}

/* Read what has arrived, since a valid hello may be waiting; then evict the oldest quarter, so that
 * a flood does not have all of them read again for each of its connections. */
static void make_room(struct acceptor *a)
{
	uint32_t keep = a->limit - (a->limit + 3) / 4;

	for (uint32_t i = a->count; i-- > 0;)
		read_hello(a, i);
	while (a->count >= a->limit ||
	       (a->count > keep && a->limit > PENDING_MIN))
		pending_reject(a, 0, &a->run->report.rejected.evicted);
}

static int is_sender(const struct acceptor *a, const struct sockaddr_storage *peer)
{
	for (uint32_t i = 0; i < nl_senders(&a->run->opts); i++)
		if (!a->from[i].len || nl_address_same_host(peer, &a->from[i].storage))
			return 1;
	return 0;
}

/* The addresses of from and also_from; both were checked. */
static int parse_senders(struct acceptor *a, struct nl_err *err)
{
	const struct nl_run_opts *opts = &a->run->opts;
	const char *at = opts->also_from;
	char item[NL_ADDRESS_MAX];

	if (opts->from[0] && nl_address_parse(opts->from, 0, &a->from[0]))
		return nl_fail_key(err, "from", "%s is not a numeric address", opts->from);
	for (uint32_t i = 1; i < nl_senders(opts); i++) {
		size_t len = strcspn(at, ",");

		memcpy(item, at, len < sizeof(item) ? len : 0);
		item[len < sizeof(item) ? len : 0] = '\0';
		if (nl_address_parse(item, 0, &a->from[i]))
			return nl_fail_key(err, "also_from", "%s is not a numeric address", item);
		at += len + 1;
	}
	return NL_OK;
}

static int accept_pending(struct acceptor *a, struct nl_err *err)
{
	struct nl_rejected *rejected = &a->run->report.rejected;

	/* Bounded, so that a flood of connections does not delay the rest. */
	for (int taken = 0; taken < ACCEPT_BATCH; taken++) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof(peer);
		int fd = accept4(a->run->listener, (struct sockaddr *)&peer, &len,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			if (errno == EAGAIN)
				return NL_OK;
			if (lost_connection(errno))
				continue;
			nl_fail_errno(err, errno, "accept");
			if (err->code != NL_LIMIT || !a->count)
				return err->code;
			pending_reject(a, 0, &rejected->evicted);
			continue;
		}
		if (!is_sender(a, &peer)) {
			rejected->address++;
			close(fd);
			continue;
		}
		if (a->count >= a->limit)
			make_room(a);
		a->pending[a->count++] = (struct pending){
			.fd = fd, .deadline_ns = nl_now_ns() + HELLO_MS * NL_NS_PER_MS};
		/* usually the hello has already arrived */
		read_hello(a, a->count - 1);
	}
	return NL_OK;
}

static int wait_for_peers(struct acceptor *a, uint64_t deadline_ns)
{
	uint64_t until = deadline_ns;

	if (a->count && a->pending[0].deadline_ns < until)
		until = a->pending[0].deadline_ns;
	a->poll[0] = (struct pollfd){.fd = a->run->listener, .events = POLLIN};
	a->poll[1] = (struct pollfd){.fd = a->run->wake, .events = POLLIN};
	for (uint32_t i = 0; i < a->count; i++)
		a->poll[i + 2] = (struct pollfd){.fd = a->pending[i].fd, .events = POLLIN};
	return poll(a->poll, a->count + 2, nl_poll_ms(until));
}

static uint64_t senders_arrived(const struct nl_run *run)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < nl_senders(&run->opts); i++)
		count += run->control[i] >= 0;
	return count;
}

static int all_arrived(const struct nl_run *run)
{
	return run->report.accepted == run->opts.streams && senders_arrived(run) == nl_senders(&run->opts);
}

static int accept_all(struct acceptor *a, struct nl_err *err)
{
	struct nl_run *run = a->run;
	uint64_t deadline_ns = nl_now_ns() + run->opts.accept_ms * NL_NS_PER_MS;
	uint32_t polled;

	while (!all_arrived(run)) {
		polled = a->count;
		if (wait_for_peers(a, deadline_ns) < 0 && errno != EINTR)
			return nl_fail_errno(err, errno, "poll");
		if (atomic_load(&run->stop_requested))
			return NL_OK;
		/* from the newest down, so that a removal does not shift entries still to be
		 * checked */
		for (uint32_t i = polled; i-- > 0;)
			if (a->poll[i + 2].revents)
				read_hello(a, i);
		for (uint64_t now = nl_now_ns(); a->count && a->pending[0].deadline_ns <= now;)
			pending_reject(a, 0, &run->report.rejected.late);
		if (a->poll[0].revents && accept_pending(a, err))
			return err->code;
		if (!all_arrived(run) && nl_now_ns() >= deadline_ns)
			return nl_fail(err, NL_TIMEOUT,
				       "%" PRIu64 " of %" PRIu64 " streams arrived in %" PRIu64 " ms%s",
				       run->report.accepted, run->opts.streams, run->opts.accept_ms,
				       senders_arrived(run) < nl_senders(&run->opts) ? ", and no control connection" : "");
	}
	return NL_OK;
}

int nl_sink_accept(struct nl_run *run, struct nl_err *err)
{
	struct acceptor *a = calloc(1, sizeof(*a));
	uint64_t room;
	int code;

	if (!a)
		return nl_fail_errno(err, ENOMEM, "memory to accept streams");
	a->run = run;
	/* at most half of the descriptors that all streams and their threads leave: another run of this
	 * process may start meanwhile */
	room = nl_fd_limit_room(run->opts.streams * (1 + run->opts.udp) + 4 * run->report.threads + 1) / 2;
	a->limit = room < PENDING_MIN ? PENDING_MIN : room < PENDING_MAX ? (uint32_t)room : PENDING_MAX;
	code = parse_senders(a, err);
	if (!code)
		code = accept_all(a, err);
	while (a->count)
		pending_reject(a, 0, &run->report.rejected.late);
	free(a);
	nl_close(&run->listener);
	for (uint64_t i = 0; code == NL_OK && i < run->opts.streams; i++) {
		struct nl_stream *stream = &run->transfer.stream[i];

		if (stream->fd < 0)
			continue;
		/* streams arrive in any order, so the listener could not set their own */
		code = nl_sockopts_congestion(stream->fd, &run->opts, i, err);
		if (!code && run->blocking && nl_sock_blocking(stream->fd))
			code = nl_fail_errno(err, errno, "fcntl");
		if (!code && stream->flow)
			code = nl_sock_datagrams(&run->opts, stream->fd, &stream->flow->port, &stream->flow->fd, err);
	}
	return code;
}

int nl_sink_await_start(struct nl_run *run, struct nl_err *err)
{
	struct timespec deadline = nl_timespec(nl_now_ns() + run->opts.await_start_ms * NL_NS_PER_MS);
	int waits = 1, late = 0;

	run->on_step(run->step_context, "connected");
	pthread_mutex_lock(&run->transfer.lock);
	while (waits && !late) {
		waits = !run->start_requested && !atomic_load(&run->stop_requested);
		late = waits && pthread_cond_timedwait(&run->transfer.changed, &run->transfer.lock, &deadline) == ETIMEDOUT;
	}
	waits = !run->start_requested && !atomic_load(&run->stop_requested);
	pthread_mutex_unlock(&run->transfer.lock);
	if (waits)
		return nl_fail(err, NL_TIMEOUT, "no request to start in %" PRIu64 " ms", run->opts.await_start_ms);
	return NL_OK;
}

int nl_sink_go(struct nl_run *run, struct nl_err *err)
{
	for (uint64_t i = 0; i < run->opts.streams; i++)
		if (send(run->transfer.stream[i].fd, "G", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
			return nl_fail_errno(err, errno, "stream %" PRIu64 " vanished before the start", i);
	return NL_OK;
}

void nl_sink_over(const struct nl_run *run)
{
	/* a gen that has gone needs none */
	for (uint64_t i = 0; i < nl_senders(&run->opts); i++)
		(void)!send(run->control[i], "W", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}
