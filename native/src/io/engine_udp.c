/* The engine of UDP runs: threads with several streams each, all at one rate.
 *
 * A stream has a TCP connection, which proves the token and releases it as ever; at the end the gen says on it
 * how many datagrams it sent (u64, network byte order). A sink sends nothing by UDP. */
#include "base/clock.h"
#include "base/clock_steps.h"
#include "base/files.h"
#include "io/schedule.h"
#include "io/worker.h"
#include "net/sock.h"
#include "net/sockopts.h"
#include "net/wire.h"

#include <endian.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum {
	BATCH = 64,          /* datagrams, or messages, of a call */
	BATCH_B = 1 << 18,   /* and bytes, so that they stay in the cache */
	BATCH_CALLS = 16,    /* of a stream before the next one */
	JOINED = 128,        /* datagrams that a kernel cuts from a message, */
	JOINED_BEFORE = 64,  /* and before Linux 6.9 */
	JOINED_B = 65535,    /* of a message of datagrams that the kernel has joined */
	JOINED_MESSAGES = 4, /* of them in a call */
	/* A sink that sleeps is not woken by each datagram. What arrives meanwhile may take so much of a receive
	 * buffer; a packet PACKET_B beside twice its own. It sleeps as long as that lasts at 1 GB/s, within limits. */
	PART_OF_BUFFER = 8,
	PACKET_B = 768,
	NAP_MIN_NS = 50 * 1000,
	NAP_MAX_NS = 400 * 1000,
	/* A sink of messages that the kernel has joined, each in DENSE_NS, does not sleep before there was none for
	 * AWAKE_NS: its processor may take ms to come back from an idle state, and the buffer is full in one. */
	DENSE_NS = 200 * 1000,
	AWAKE_NS = 1000 * 1000,
	AHEAD_NS = 5 * 1000 * 1000, /* that the kernel gets what it paces */
	BUSY_NS = 200 * 1000,       /* between two tries at a full send buffer */
	ENDING_MS = 5,              /* between two looks at streams that are ending */
	QUEUE_MS = 1000,            /* limit of the wait for what the kernel has not sent */
	/* What has not arrived this long, and four round trips, after the gen has ended is lost. */
	QUIET_MS = 250,
	CONTROL_B = CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(int)),
};

/* -- the gen ------------------------------------------------------------------------------ */

struct outgoing {
	uint64_t each, batch; /* datagrams of a message, and of a call */
	struct nl_schedule schedule;
	struct mmsghdr message[BATCH];
	struct iovec part[BATCH]; /* of each message */
	uint8_t memory[];         /* [batch][record_B] */
};

static int prepare_gen(struct nl_worker *worker)
{
	const struct nl_run_opts *opts = worker->transfer->opts;
	uint64_t each = nl_sooner(opts->gso ? NL_DATAGRAM_MAX_B / opts->record_B : 1, JOINED);
	uint64_t messages = nl_sooner(BATCH, BATCH_B / opts->record_B) / each;
	uint64_t batch = each * (messages ? messages : 1);
	struct outgoing *out = calloc(1, sizeof(*out) + batch * opts->record_B);

	if (!out)
		return ENOMEM;
	worker->own = out;
	out->each = each;
	out->batch = batch;
	out->schedule = nl_schedule_of((double)opts->pacing_Bps / (double)opts->record_B,
				       opts->kernel_pacing ? AHEAD_NS : 0);
	for (uint64_t i = 0; i < out->batch; i++)
		memcpy(out->memory + i * opts->record_B, worker->ctx.buffer, opts->record_B);
	for (uint64_t m = 0; m < out->batch / out->each; m++) {
		out->part[m].iov_base = out->memory + m * out->each * opts->record_B;
		out->message[m].msg_hdr = (struct msghdr){.msg_iov = &out->part[m], .msg_iovlen = 1};
	}
	prctl(PR_SET_TIMERSLACK, 1UL); /* of this thread; by default 50 us */
	return 0;
}

static int nap(struct nl_worker *worker)
{
	const struct outgoing *out = worker->own;
	struct timespec at = nl_timespec(out->schedule.next_ns);

	if (out->schedule.next_ns > nl_now_ns())
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	return 0;
}

/* Send n datagrams in one call; the number sent, or -1 with errno. */
static int64_t send_batch(struct nl_worker *worker, const struct nl_stream *stream, uint64_t n)
{
	struct outgoing *out = worker->own;
	uint64_t messages = (n + out->each - 1) / out->each, record_B = worker->transfer->opts->record_B;
	struct nl_datagram datagram = {.sent_ns = (uint32_t)nl_now_ns()};
	int64_t sent;

	for (uint64_t i = 0; i < n; i++) {
		datagram.sequence = stream->flow->sequence.count.sent + i;
		nl_datagram_write(out->memory + i * record_B, worker->transfer->opts->token, stream->id, &datagram);
	}
	for (uint64_t m = 0; m < messages; m++)
		out->part[m].iov_len = record_B * (m + 1 < messages ? out->each : n - m * out->each);
	sent = sendmmsg(stream->flow->fd, out->message, (unsigned int)messages, MSG_DONTWAIT | MSG_NOSIGNAL);
	return sent * (int64_t)out->each < (int64_t)n ? sent * (int64_t)out->each : (int64_t)n;
}

/* Send what is due of a stream and not skipped, at most BATCH_CALLS batches. */
static void send_due(struct nl_worker *worker, struct nl_stream *stream, uint64_t skipped)
{
	struct outgoing *out = worker->own;
	struct nl_udp *count = &stream->flow->sequence.count;
	uint64_t behind = out->schedule.due - (count->skipped += skipped) - count->sent;

	if (behind > out->schedule.most) {
		count->skipped += behind - out->schedule.most;
		behind = out->schedule.most;
	}
	for (int call = 0; behind > 0 && call < BATCH_CALLS; call++) {
		uint64_t n = behind < out->batch ? behind : out->batch;
		int64_t sent = send_batch(worker, stream, n);

		if (sent > 0) {
			behind -= (uint64_t)sent;
			count->sent += (uint64_t)sent;
			nl_stream_sent(stream, (uint64_t)sent * worker->transfer->opts->record_B);
		}
		if (sent < 0 && errno == EINVAL && out->each > JOINED_BEFORE) {
			out->each = out->batch = JOINED_BEFORE; /* of one message */
			continue;
		}
		if (sent < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EINTR) {
			nl_worker_moved(worker, stream, errno);
			return;
		}
		if (sent < (int64_t)n) {
			out->schedule.next_ns = nl_now_ns() + BUSY_NS;
			return;
		}
	}
	if (behind > 0)
		out->schedule.next_ns = 0;
}

/* Say how many datagrams there were, once the kernel has sent them: the connection does not wait for them. */
static void end_gen(struct nl_worker *worker, struct nl_stream *stream, uint64_t now)
{
	const struct outgoing *out = worker->own;
	uint64_t number = htobe64(stream->flow->sequence.count.sent);
	int queued_B = 0, said;

	if (!stream->flow->quiet_ns) {
		stream->flow->quiet_ns = now + QUEUE_MS * NL_NS_PER_MS;
		stream->flow->sequence.count.skipped += out->schedule.late;
	}
	if (now < stream->flow->quiet_ns && ioctl(stream->flow->fd, SIOCOUTQ, &queued_B) == 0 && queued_B > 0)
		return;
	said = send(stream->fd, &number, sizeof(number), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(number);
	nl_worker_moved(worker, stream, said ? 0 : errno);
}

static void transfer_gen(struct nl_worker *worker)
{
	struct outgoing *out = worker->own;
	uint64_t now = nl_now_ns(), skipped = nl_schedule_turn(&out->schedule, now);
	int over = nl_transfer_over(worker->transfer);

	/* a look at the end at least that often */
	out->schedule.next_ns = nl_sooner(out->schedule.next_ns, now + ENDING_MS * NL_NS_PER_MS);
	for (uint64_t i = 0; i < nl_worker_streams(worker); i++) {
		struct nl_stream *stream = nl_worker_stream(worker, i);

		if (!stream->t_first_ns)
			stream->t_first_ns = now;
		if (stream->phase == NL_CLOSING)
			nl_worker_await_close(worker, stream);
		else if (stream->phase == NL_MOVING && over)
			end_gen(worker, stream, now);
		else if (stream->phase == NL_MOVING)
			send_due(worker, stream, skipped);
	}
}

static void finish_gen(struct nl_worker *worker)
{
	free(worker->own);
}

/* -- the sink ------------------------------------------------------------------------------- */

struct incoming {
	int fd, ready;   /* an epoll set of the datagrams and the connection of each stream */
	uint64_t ending; /* streams whose gen has ended */
	int nap;         /* there was something in the last turn, and not much */
	uint64_t much_B; /* of a receive buffer in a turn; no sleep after as much */
	uint64_t nap_ns;
	uint64_t turn_ns; /* the last turn with something */
	unsigned int messages;
	struct nl_stamps stamps;
	struct nl_clocks clocks; /* and the time, after the last call that read */
	uint64_t now_ns;
	struct epoll_event event[BATCH];
	struct mmsghdr message[BATCH];
	struct iovec part[BATCH];
	_Alignas(struct cmsghdr) uint8_t control[BATCH][CONTROL_B];
	uint8_t memory[]; /* of the messages */
};

static int prepare_sink(struct nl_worker *worker)
{
	const struct nl_run_opts *opts = worker->transfer->opts;
	unsigned int messages = opts->gro ? JOINED_MESSAGES : BATCH;
	uint64_t message_B = opts->gro ? JOINED_B : opts->record_B + 1; /* so that a longer one shows */
	struct incoming *in = calloc(1, sizeof(*in) + messages * message_B);
	int number_B = sizeof(uint64_t);

	if (!in)
		return ENOMEM;
	worker->own = in;
	in->messages = messages;
	nl_stamps_begin(&in->stamps);
	in->fd = epoll_create1(EPOLL_CLOEXEC);
	if (in->fd < 0)
		return errno;
	for (unsigned int m = 0; m < messages; m++) {
		in->part[m] = (struct iovec){in->memory + m * message_B, message_B};
		in->message[m].msg_hdr = (struct msghdr){.msg_iov = &in->part[m], .msg_iovlen = 1,
							 .msg_control = in->control[m]};
	}
	for (uint64_t i = 0; i < nl_worker_streams(worker); i++) {
		const struct nl_stream *stream = nl_worker_stream(worker, i);
		/* twice the stream's place in the thread, plus 1 for its connection */
		struct epoll_event of_data = {EPOLLIN, {.u64 = 2 * i}}, of_end = {EPOLLIN, {.u64 = 2 * i + 1}};

		in->much_B = nl_sockopts_number(stream->flow->fd, SOL_SOCKET, SO_RCVBUF) / PART_OF_BUFFER;
		/* not ready before the whole number of datagrams has come, or the end */
		setsockopt(stream->fd, SOL_SOCKET, SO_RCVLOWAT, &number_B, sizeof(number_B));
		if (epoll_ctl(in->fd, EPOLL_CTL_ADD, stream->flow->fd, &of_data) ||
		    epoll_ctl(in->fd, EPOLL_CTL_ADD, stream->fd, &of_end))
			return errno;
	}
	in->nap_ns = nl_sooner(in->much_B < NAP_MIN_NS ? NAP_MIN_NS : in->much_B, NAP_MAX_NS);
	prctl(PR_SET_TIMERSLACK, 1UL); /* of this thread; by default 50 us */
	return 0;
}

static int await_events(struct nl_worker *worker)
{
	struct incoming *in = worker->own;
	int awake = in->nap && worker->transfer->opts->gro;
	uint64_t until_ns = awake ? nl_now_ns() + AWAKE_NS : 0;

	if (in->nap && !awake)
		nanosleep(&(struct timespec){.tv_nsec = (long)in->nap_ns}, NULL);
	do
		in->ready = epoll_wait(in->fd, in->event, BATCH, in->nap ? 0 : in->ending ? ENDING_MS : -1);
	while (in->ready == 0 && awake && nl_now_ns() < until_ns);
	in->nap = 0;
	return in->ready >= 0 || errno == EINTR ? 0 : errno;
}

/* What the kernel says of a message: its stamp, and bytes of each datagram if it has joined several. */
static void read_control(struct msghdr *message, uint64_t *realtime_ns, int *each_B)
{
	struct timespec t;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
			memcpy(&t, CMSG_DATA(c), sizeof(t));
			*realtime_ns = nl_timespec_ns(t);
		} else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			memcpy(each_B, CMSG_DATA(c), sizeof(*each_B));
		}
	}
}

/* Count the datagrams of a message; the number of those that are received. */
static uint64_t take_message(struct incoming *in, const struct nl_run_opts *opts,
			     const struct nl_stream *stream, struct mmsghdr *message)
{
	const uint8_t *bytes = message->msg_hdr.msg_iov->iov_base;
	struct nl_flow *flow = stream->flow;
	int left = (int)message->msg_len, each_B = left;
	uint64_t received = 0, realtime_ns = 0, arrived_ns;
	struct nl_datagram datagram;

	read_control(&message->msg_hdr, &realtime_ns, &each_B);
	arrived_ns = nl_stamp_ns(&in->stamps, &in->clocks, in->now_ns, realtime_ns);
	do { /* also for an empty one */
		size_t len = (size_t)(left < each_B ? left : each_B);

		if (len != opts->record_B || nl_datagram_parse(bytes, len, opts->token, stream->id, &datagram)) {
			flow->sequence.count.invalid++;
		} else if (nl_sequence_take(&flow->sequence, datagram.sequence)) {
			received++;
			if (arrived_ns)
				nl_jitter_take(&flow->jitter, (uint32_t)arrived_ns, datagram.sent_ns);
			else
				nl_jitter_skip(&flow->jitter);
		}
		bytes += len;
		left -= (int)len;
	} while (left > 0);
	return received;
}

/* Read what has arrived, at most BATCH_CALLS times; how much of the receive buffer it took. */
static uint64_t receive_some(struct nl_worker *worker, struct nl_stream *stream)
{
	const struct nl_run_opts *opts = worker->transfer->opts;
	struct incoming *in = worker->own;
	int n = (int)in->messages;
	uint64_t took_B = 0;

	for (int call = 0; n == (int)in->messages && call < BATCH_CALLS; call++) {
		uint64_t received = 0;

		for (unsigned int m = 0; m < in->messages; m++)
			in->message[m].msg_hdr.msg_controllen = CONTROL_B;
		n = recvmmsg(stream->flow->fd, in->message, in->messages, MSG_DONTWAIT, NULL);
		if (n > 0) {
			nl_clocks_read(&in->clocks);
			in->now_ns = nl_now_ns();
		}
		for (int m = 0; m < n; m++) {
			took_B += 2 * in->message[m].msg_len + PACKET_B;
			received += take_message(in, opts, stream, &in->message[m]);
		}
		if (received)
			nl_stream_received(stream, received * opts->record_B);
	}
	return took_B;
}

static void end_sink(struct nl_worker *worker, struct nl_stream *stream, int errnum)
{
	struct incoming *in = worker->own;
	struct nl_flow *flow = stream->flow;

	if (!errnum && flow->quiet_ns && nl_sequence_end(&flow->sequence, flow->sequence.count.sent))
		errnum = EPROTO; /* more datagrams than the gen says it sent */
	in->ending -= flow->quiet_ns != 0;
	epoll_ctl(in->fd, EPOLL_CTL_DEL, flow->fd, NULL);
	epoll_ctl(in->fd, EPOLL_CTL_DEL, stream->fd, NULL);
	nl_worker_moved(worker, stream, errnum);
}

/* Read the gen's number of datagrams, its last word on the connection. */
static void read_number(struct nl_worker *worker, struct nl_stream *stream)
{
	struct incoming *in = worker->own;
	struct nl_flow *flow = stream->flow;
	struct nl_tcp tcp = {0};
	uint64_t number;
	ssize_t n = recv(stream->fd, &number, sizeof(number), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(number)) {
		end_sink(worker, stream, nl_stream_quitting(stream) ? 0 : n < 0 ? errno : ECONNRESET);
		return;
	}
	flow->sequence.count.sent = be64toh(number);
	nl_tcpinfo_read(stream->fd, &tcp);
	flow->silence_ns = nl_sooner(QUIET_MS * NL_NS_PER_MS + 4000 * tcp.rtt_us,
				     worker->transfer->opts->drain_ms * NL_NS_PER_MS / 2);
	flow->quiet_ns = nl_now_ns() + flow->silence_ns;
	in->ending++;
	epoll_ctl(in->fd, EPOLL_CTL_DEL, stream->fd, NULL);
}

static void end_if_quiet(struct nl_worker *worker, struct nl_stream *stream)
{
	const struct nl_udp *count = &stream->flow->sequence.count;

	if (receive_some(worker, stream)) /* a thread without a CPU is not silence */
		stream->flow->quiet_ns = nl_now_ns() + stream->flow->silence_ns;
	if (count->received >= count->sent || nl_stream_quitting(stream) || nl_now_ns() >= stream->flow->quiet_ns)
		end_sink(worker, stream, 0);
}

static void transfer_sink(struct nl_worker *worker)
{
	struct incoming *in = worker->own;
	uint64_t now = nl_now_ns();
	int much = 0, dense = !worker->transfer->opts->gro || now < in->turn_ns + DENSE_NS;

	if (in->ready > 0)
		in->turn_ns = now;
	for (int i = 0; i < in->ready; i++) {
		struct nl_stream *stream = nl_worker_stream(worker, in->event[i].data.u64 / 2);

		if (in->event[i].data.u64 % 2 && stream->phase == NL_MOVING)
			read_number(worker, stream);
		else if (stream->phase == NL_MOVING && !stream->flow->quiet_ns)
			much |= receive_some(worker, stream) > in->much_B;
	}
	in->nap = in->ready > 0 && !much && dense;
	for (uint64_t i = 0; in->ending && i < nl_worker_streams(worker); i++) {
		struct nl_stream *stream = nl_worker_stream(worker, i);

		if (stream->phase == NL_MOVING && stream->flow->quiet_ns)
			end_if_quiet(worker, stream);
	}
}

static void finish_sink(struct nl_worker *worker)
{
	struct incoming *in = worker->own;

	if (in)
		nl_close(&in->fd);
	free(in);
}

/* -- both ends --------------------------------------------------------------------------------- */

void nl_flow_describe(const struct nl_flow *flow, const struct nl_run_opts *opts, struct nl_stream_report *out)
{
	out->has_udp = 1;
	out->pacing_Bps = opts->pacing_Bps;
	out->udp = flow->sequence.count;
	if (opts->role == NL_GEN)
		return;
	out->udp.lost = out->udp.sent > out->udp.received ? out->udp.sent - out->udp.received : 0;
	out->udp.jitter_ns = nl_jitter_ns(&flow->jitter);
	out->udp.socket_drops = nl_sock_drops(flow->fd);
}

const struct nl_engine nl_engine_udp_gen = {
	.name = "udp", .prepare = prepare_gen, .wait = nap, .transfer = transfer_gen, .finish = finish_gen,
};

const struct nl_engine nl_engine_udp_sink = {
	.name = "udp", .prepare = prepare_sink, .wait = await_events, .transfer = transfer_sink,
	.finish = finish_sink,
};

const struct nl_io_method nl_io_udp_send[] = {{.name = "sendmmsg", .buffer = NL_BUFFER_SHARED},
					      {.name = "gso", .buffer = NL_BUFFER_SHARED}};
const struct nl_io_method nl_io_udp_receive[] = {{.name = "recvmmsg"}, {.name = "gro"}};
