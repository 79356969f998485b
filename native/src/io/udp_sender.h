/* udp_sender: send datagrams of any stream of a thread, many in a call.
 *
 * With gso a message is several datagrams, which the kernel cuts. */
#pragma once

#include "io/stream.h"

#include <sys/socket.h>

enum { NL_UDP_CALL_MESSAGES = 64 };

struct nl_udp_sender {
	const struct nl_run_opts *opts;
	uint64_t message_datagrams, call_datagrams; /* the most of each */
	struct mmsghdr message[NL_UDP_CALL_MESSAGES];
	struct iovec part[NL_UDP_CALL_MESSAGES]; /* of each message */
	uint8_t memory[];                        /* [call_datagrams][record_B] */
};

/* For free(); every datagram is a copy of the record. NULL: no memory. The options stay the caller's. */
struct nl_udp_sender *nl_udp_sender_new(const struct nl_run_opts *opts, const uint8_t *record);

/* Send *n datagrams of a stream from its next number on, in one call; *n becomes fewer if a call takes no more.
 * The number sent, which is less with a full send buffer, or -1 with errno. Counts nothing. */
int64_t nl_udp_send(struct nl_udp_sender *sender, const struct nl_stream *stream, uint64_t *n);
