#include "io/udp_sender.h"

#include "base/clock.h"
#include "net/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CALL_B = 1 << 18,     /* of a call, so that its datagrams stay in the cache */
	GSO_DATAGRAMS = 128,  /* that a kernel cuts from a message, */
	GSO_DATAGRAMS_BEFORE_6_9 = 64,
};

struct nl_udp_sender *nl_udp_sender_new(const struct nl_run_opts *opts, const uint8_t *record)
{
	uint64_t each = nl_sooner(opts->gso ? NL_DATAGRAM_MAX_B / opts->record_B : 1, GSO_DATAGRAMS);
	uint64_t messages = nl_sooner(NL_UDP_CALL_MESSAGES, CALL_B / opts->record_B) / each;
	uint64_t datagrams = each * (messages ? messages : 1);
	struct nl_udp_sender *sender = calloc(1, sizeof(*sender) + datagrams * opts->record_B);

	if (!sender)
		return NULL;
	sender->opts = opts;
	sender->message_datagrams = each;
	sender->call_datagrams = datagrams;
	for (uint64_t i = 0; i < datagrams; i++)
		memcpy(sender->memory + i * opts->record_B, record, opts->record_B);
	for (uint64_t m = 0; m < datagrams / each; m++) {
		sender->part[m].iov_base = sender->memory + m * each * opts->record_B;
		sender->message[m].msg_hdr = (struct msghdr){.msg_iov = &sender->part[m], .msg_iovlen = 1};
	}
	return sender;
}

static int64_t send_messages(struct nl_udp_sender *sender, const struct nl_stream *stream, uint64_t n)
{
	uint64_t each = sender->message_datagrams, messages = (n + each - 1) / each;
	uint64_t record_B = sender->opts->record_B;
	struct nl_datagram datagram = {.sent_ns = (uint32_t)nl_now_ns()};
	int64_t sent;

	for (uint64_t i = 0; i < n; i++) {
		datagram.sequence = stream->flow->sequence.count.sent + i;
		nl_datagram_write(sender->memory + i * record_B, sender->opts->token, stream->id, &datagram);
	}
	for (uint64_t m = 0; m < messages; m++)
		sender->part[m].iov_len = record_B * (m + 1 < messages ? each : n - m * each);
	sent = sendmmsg(stream->flow->fd, sender->message, (unsigned int)messages, MSG_DONTWAIT | MSG_NOSIGNAL);
	return sent * (int64_t)each < (int64_t)n ? sent * (int64_t)each : (int64_t)n;
}

int64_t nl_udp_send(struct nl_udp_sender *sender, const struct nl_stream *stream, uint64_t *n)
{
	int64_t sent;

	*n = nl_sooner(*n, sender->call_datagrams);
	sent = send_messages(sender, stream, *n);
	if (sent >= 0 || errno != EINVAL || sender->message_datagrams <= GSO_DATAGRAMS_BEFORE_6_9)
		return sent;
	sender->message_datagrams = sender->call_datagrams = GSO_DATAGRAMS_BEFORE_6_9; /* one message */
	*n = nl_sooner(*n, sender->call_datagrams);
	return send_messages(sender, stream, *n);
}
