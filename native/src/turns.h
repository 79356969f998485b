/* turns: how much a stream of a set moves before the next one, and how much a thread sends
 * before it lets others run.
 *
 * Where sinks have to share processors with gens, a gen that lets them run now and then has them
 * read what is still in the cache, and no backlog builds up that has outgrown it. How often that
 * pays is a matter of what a turn costs beside what it moves. Large packets, as segmentation
 * offload makes them, are cheap: turns are long, and longest where each of very many streams
 * starts its turn cold. Where every packet is cut to the MTU before it leaves, the packets cost
 * more than the turns, and each record is handed over as it was sent. */
#ifndef NL_TURNS_H
#define NL_TURNS_H

#include <stdint.h>

enum {
	NL_TURN_THREAD_B = 2 << 20, /* of a thread that has one stream */
	NL_TURN_SET_B = 4 << 20,
	NL_TURN_LARGE_SET_B = 8 << 20,
	NL_TURN_SMALL_PACKETS_B = 128 << 10,
	NL_TURN_LARGE_SET = 64, /* streams of a thread, from which on a set is large */
};

struct nl_turns {
	uint64_t stream_B;
	uint64_t yield_B; /* UINT64_MAX: never */
};

/* For streams on threads (as many as streams: a thread each) of a machine with cpus;
 * large_packets: what they send leaves TCP in packets of many segments. */
struct nl_turns nl_turns_of(uint64_t streams, uint64_t threads, uint64_t cpus, int large_packets);

#endif
