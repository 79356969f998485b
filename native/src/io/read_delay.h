/* read_delay: sleep between reads, for a sink that is faster than its stream.
 *
 * A sink blocked in recv() on another CPU is woken for every packet, which costs the receiving CPU
 * more than the copy. A sleeping sink has no such cost. At most an eighth of the socket's buffer
 * arrives during a sleep. A read that left data, or returned more than a few packets, is never
 * followed by a sleep: the sink may be the bottleneck. A slow stream blocks in recv() as usual. */
#pragma once

#include <stdint.h>

enum {
	NL_READ_DELAY_MIN_NS = 20 * 1000,
	NL_READ_DELAY_MAX_NS = 100 * 1000,
	NL_READ_DELAY_READ_B = 128 * 1024, /* two packets of segmentation offload */
};

struct nl_read_delay {
	int fd;           /* -1: never */
	uint64_t t_ns;    /* time of the last update */
	uint64_t bytes;   /* of the stream, at the last update */
	uint64_t wait_ns; /* the sleep in force */
};

/* True if a read of read_B bytes into room_B was small and emptied the socket's buffer. */
static inline int nl_read_delay_allowed(uint64_t read_B, uint64_t room_B)
{
	return read_B < room_B && read_B <= NL_READ_DELAY_READ_B;
}

/* Call from the reading thread. */
void nl_read_delay_begin(struct nl_read_delay *delay, int fd);

/* Call after a read; bytes is the stream's total. */
void nl_read_delay_after_read(struct nl_read_delay *delay, uint64_t bytes, uint64_t read_B,
			      uint64_t room_B);

/* Length of the sleep, for a stream that received bytes in elapsed_ns into a buffer of rcvbuf_B (as
 * reported by getsockopt); 0: none. */
uint64_t nl_read_delay_ns(uint64_t bytes, uint64_t elapsed_ns, uint64_t rcvbuf_B);
