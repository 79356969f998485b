/* linger: a sink that is faster than its stream lets some pile up before it looks again.
 *
 * One that waits in recv() on another processor is woken for every packet, which costs the one
 * that delivers them more than the copying; of one that sleeps for a moment it knows nothing.
 * What comes in that moment is an eighth of the socket's buffer at most. It never sleeps after a
 * read that left something or was of more than a few packets, when the sink may be what holds
 * things up, and a stream that is not fast is waited for in recv() as ever. */
#ifndef NL_READ_DELAY_H
#define NL_READ_DELAY_H

#include <stdint.h>

enum {
	NL_READ_DELAY_MIN_NS = 20 * 1000,
	NL_READ_DELAY_MAX_NS = 100 * 1000,
	NL_READ_DELAY_READ_B = 128 * 1024, /* two packets as segmentation offload makes them */
};

struct nl_read_delay {
	int fd;           /* -1: never */
	uint64_t t_ns;    /* of the last update at how fast it is */
	uint64_t bytes;   /* of the stream, at that update */
	uint64_t wait_ns; /* what follows from it */
};

/* Whether a read of read_B where room_B would have had room found little, and left nothing. */
static inline int nl_read_delay_allowed(uint64_t read_B, uint64_t room_B)
{
	return read_B < room_B && read_B <= NL_READ_DELAY_READ_B;
}

/* From the thread that reads. */
void nl_read_delay_begin(struct nl_read_delay *delay, int fd);

/* After a read; with what the stream has received by now. */
void nl_read_delay_after_read(struct nl_read_delay *delay, uint64_t bytes, uint64_t read_B, uint64_t room_B);

/* How long to sleep for a stream that received bytes in elapsed_ns into a socket of rcvbuf_B (as
 * getsockopt tells it); 0: not at all. */
uint64_t nl_read_delay_ns(uint64_t bytes, uint64_t elapsed_ns, uint64_t rcvbuf_B);

#endif
