/* udp_reader: read the datagrams of any stream of a thread, many in a call, and count them.
 *
 * With gro the kernel may join datagrams of one stream to a message; they have one time of arrival. */
#pragma once

#include "base/clock_steps.h"
#include "io/stream.h"

#include <sys/socket.h>
#include <time.h>

enum {
	NL_UDP_READ_MESSAGES = 64,
	NL_UDP_CONTROL_B = CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(int)),
};

struct nl_udp_reader {
	const struct nl_run_opts *opts;
	unsigned int messages; /* of a call */
	struct nl_stamps stamps;
	struct nl_clocks clocks; /* and the time, after the last call that read */
	uint64_t now_ns;
	struct mmsghdr message[NL_UDP_READ_MESSAGES];
	struct iovec part[NL_UDP_READ_MESSAGES];
	_Alignas(struct cmsghdr) uint8_t control[NL_UDP_READ_MESSAGES][NL_UDP_CONTROL_B];
	uint8_t memory[]; /* of the messages */
};

/* For free(). NULL: no memory. The options stay the caller's. */
struct nl_udp_reader *nl_udp_reader_new(const struct nl_run_opts *opts);

/* Read what has arrived of a stream, in a bounded number of calls; how much of its receive buffer that took. */
uint64_t nl_udp_read(struct nl_udp_reader *reader, struct nl_stream *stream);
