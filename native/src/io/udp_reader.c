#include "io/udp_reader.h"

#include "base/clock.h"
#include "io/udp_nap.h"
#include "net/sockopts.h"
#include "net/wire.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum {
	STREAM_CALLS = 16, /* of a stream before the next one */
	JOINED_B = 65535,  /* of a message of datagrams that the kernel has joined */
	JOINED_MESSAGES = 4, /* of them in a call */
};

struct nl_udp_reader *nl_udp_reader_new(const struct nl_run_opts *opts)
{
	unsigned int messages = opts->gro ? JOINED_MESSAGES : NL_UDP_READ_MESSAGES;
	uint64_t message_B = opts->gro ? JOINED_B : opts->record_B + 1; /* so that a longer one shows */
	struct nl_udp_reader *reader = calloc(1, sizeof(*reader) + messages * message_B);

	if (!reader)
		return NULL;
	reader->opts = opts;
	reader->messages = messages;
	nl_stamps_begin(&reader->stamps);
	for (unsigned int m = 0; m < messages; m++) {
		reader->part[m] = (struct iovec){reader->memory + m * message_B, message_B};
		reader->message[m].msg_hdr = (struct msghdr){.msg_iov = &reader->part[m], .msg_iovlen = 1,
							     .msg_control = reader->control[m]};
	}
	return reader;
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
static uint64_t count_message(struct nl_udp_reader *reader, const struct nl_stream *stream,
			      struct mmsghdr *message)
{
	const struct nl_run_opts *opts = reader->opts;
	const uint8_t *bytes = message->msg_hdr.msg_iov->iov_base;
	struct nl_flow *flow = stream->flow;
	int left = (int)message->msg_len, each_B = left;
	uint64_t received = 0, realtime_ns = 0, arrived_ns;
	struct nl_datagram datagram;

	read_control(&message->msg_hdr, &realtime_ns, &each_B);
	arrived_ns = nl_stamp_ns(&reader->stamps, &reader->clocks, reader->now_ns, realtime_ns);
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

uint64_t nl_udp_read(struct nl_udp_reader *reader, struct nl_stream *stream)
{
	int n = (int)reader->messages;
	uint64_t took_B = 0;

	for (int call = 0; n == (int)reader->messages && call < STREAM_CALLS; call++) {
		uint64_t received = 0;

		for (unsigned int m = 0; m < reader->messages; m++)
			reader->message[m].msg_hdr.msg_controllen = NL_UDP_CONTROL_B;
		n = recvmmsg(stream->flow->fd, reader->message, reader->messages, MSG_DONTWAIT, NULL);
		if (n > 0) {
			nl_clocks_read(&reader->clocks);
			reader->now_ns = nl_now_ns();
		}
		for (int m = 0; m < n; m++) {
			took_B += nl_udp_buffered_B(reader->message[m].msg_len);
			received += count_message(reader, stream, &reader->message[m]);
		}
		if (received)
			nl_stream_received(stream, received * reader->opts->record_B);
	}
	return took_B;
}
