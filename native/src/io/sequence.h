/* sequence: the datagrams of a stream by their numbers, from 0: received, lost, reordered, duplicates.
 *
 * A number is lost once it is NL_SEQUENCE_WINDOW behind the highest one, or at the end: a datagram that comes
 * later is invalid. Pure. */
#pragma once

#include "netlab.h"

enum { NL_SEQUENCE_WINDOW = 16384 };

/* A number further ahead is invalid: more than any gen sends while its sink receives nothing. */
#define NL_SEQUENCE_JUMP UINT64_C(0xffffffff)

struct nl_sequence {
	struct nl_udp count; /* received to burst_max are kept here, the others by the engine */
	uint64_t next;       /* the highest number received, plus 1 */
	uint64_t burst;      /* lost in a row so far */
	uint64_t settled;    /* numbers below are received or lost for good */
	uint64_t seen[NL_SEQUENCE_WINDOW / 64]; /* a bit each of settled to next - 1, at its number mod WINDOW */
};

/* Count a datagram. 1 if it is received, 0 if not: a duplicate or invalid. */
int nl_sequence_take(struct nl_sequence *s, uint64_t number);

/* Settle all numbers below `sent`. -1 if a higher one was received. */
int nl_sequence_end(struct nl_sequence *s, uint64_t sent);

/* Interarrival jitter (RFC 3550, section 6.4.1). Differences of transit times fit 32 bits of ns. */
struct nl_jitter {
	uint64_t count; /* estimates */
	uint32_t transit_ns;
	int has_transit; /* of the arrival before; 0: none, or its time is not known */
	double ns, sum_ns; /* the present estimate, and their sum */
};

void nl_jitter_take(struct nl_jitter *jitter, uint32_t arrived_ns, uint32_t sent_ns);

/* Skip an arrival whose time is not known: no difference is taken across it. */
void nl_jitter_skip(struct nl_jitter *jitter);

/* Mean of the estimates; 0 without any. */
uint64_t nl_jitter_ns(const struct nl_jitter *jitter);
