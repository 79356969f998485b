/* cobalt: the signals of one queue under CAKE, of CoDel's kind and BLUE's beside each other.
 *
 * As CoDel it signals, by a mark or a drop, a packet that waited longer than the target, the first an interval
 * after the first of them, later ones at the control law. In place of forgetting them it counts the signals down
 * at the same law once the target is met. As BLUE it drops with a probability that grows by 1/256 with an
 * overflow and shrinks by 1/4096 with an empty queue, each once in a target's time; this takes no marks.
 *
 * After Hoiland-Jorgensen, Taht and Morton, "Piece of CAKE" (LANMAN 2018), and Linux's sch_cake(8). One thread at a
 * time; now_ns never decreases, but as aqm.h has it for overflows. */
#pragma once

#include "base/prng.h"
#include "emulator/flow_queues.h"

struct nl_cobalt_times {
	uint64_t target_ns, interval_ns;
	uint64_t packet_ns; /* transmission of the largest packet: fewer than four of them do not count as a queue */
};

struct nl_cobalt {
	uint64_t next_ns; /* of the next signal, or of the next count down; without a count: when it is at rest */
	uint64_t blue_ns; /* last change of the probability */
	uint32_t count, probability; /* probability: of 2^32 */
	int above;                   /* the target was exceeded last */
};

/* A packet leaves the queue. 1: it is to be dropped; else it may have been marked. */
int nl_cobalt_drops(struct nl_cobalt *c, const struct nl_cobalt_times *times, uint64_t now_ns, int ecn,
		    struct nl_aqm_packet *packet, struct nl_prng *random);
/* A packet was dropped because the limit was exceeded. */
void nl_cobalt_overflow(struct nl_cobalt *c, const struct nl_cobalt_times *times, uint64_t now_ns);
/* The queue was to be served and is empty. */
void nl_cobalt_empty(struct nl_cobalt *c, const struct nl_cobalt_times *times, uint64_t now_ns);
/* True if nothing is left to count down. */
int nl_cobalt_rests(const struct nl_cobalt *c, uint64_t now_ns);
