/* linger: a sink that is faster than its stream lets some pile up before it looks again.
 *
 * One that waits in recv() on another processor is woken for every packet, which costs the one
 * that delivers them more than the copying; of one that sleeps for a moment it knows nothing.
 * What comes in that moment is an eighth of the socket's buffer at most. It never sleeps after a
 * read of more than a packet, when the sink may be what holds things up, and a stream that is not
 * fast is waited for in recv() as ever. */
#ifndef NL_LINGER_H
#define NL_LINGER_H

#include <stdint.h>

enum {
	NL_LINGER_MIN_NS = 20 * 1000,
	NL_LINGER_MAX_NS = 100 * 1000,
	NL_LINGER_PACKET_B = 16384, /* a large frame, and hardly more */
};

struct nl_linger {
	int fd;           /* -1: never */
	uint64_t t_ns;    /* of the last look at how fast it is */
	uint64_t bytes;   /* of the stream, at that look */
	uint64_t wait_ns; /* what follows from it */
};

/* From the thread that reads. */
void nl_linger_begin(struct nl_linger *linger, int fd);

/* After a read of read_B, with what the stream has received by now. */
void nl_linger_after(struct nl_linger *linger, uint64_t bytes, uint64_t read_B);

/* How long to sleep for a stream that received bytes in elapsed_ns into a socket of rcvbuf_B (as
 * getsockopt tells it); 0: not at all. */
uint64_t nl_linger_ns(uint64_t bytes, uint64_t elapsed_ns, uint64_t rcvbuf_B);

#endif
