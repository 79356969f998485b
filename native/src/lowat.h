/* lowat: how much of a stream has to have come before its sink's thread is woken.
 *
 * A fast stream wakes a sink that waits on another processor for every packet, which costs
 * both of them more than the copying. SO_RCVLOWAT lets some pile up first: at most what comes
 * in a quarter of a millisecond, and at most a quarter of what the socket may hold. */
#ifndef NL_LOWAT_H
#define NL_LOWAT_H

#include <stdint.h>

struct nl_lowat {
	int fd;         /* -1: leave the socket alone */
	uint64_t t_ns;  /* of the last look */
	uint64_t bytes; /* of the stream, at the last look */
	uint64_t now_B; /* what the socket is set to */
};

void nl_lowat_begin(struct nl_lowat *lowat, int fd);

/* After a read, with what the stream has received by now. */
void nl_lowat_look(struct nl_lowat *lowat, uint64_t bytes);

/* What serves a stream that received bytes in elapsed_ns into a socket of rcvbuf_B (as
 * getsockopt tells it): a power of two, or 1 where waking for every packet is right. */
uint64_t nl_lowat_wanted(uint64_t bytes, uint64_t elapsed_ns, uint64_t rcvbuf_B);

#endif
