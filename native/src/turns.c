#include "turns.h"

struct nl_turns nl_turns_of(uint64_t streams, uint64_t threads, uint64_t cpus, int large_packets)
{
	struct nl_turns turns = {.stream_B = NL_TURN_SET_B};

	if (streams >= NL_TURN_LARGE_SET * threads)
		turns.stream_B = NL_TURN_LARGE_SET_B;
	if (!large_packets)
		turns.stream_B = NL_TURN_SMALL_PACKETS_B;
	turns.yield_B = turns.stream_B;
	if (large_packets && streams == threads)
		turns.yield_B = NL_TURN_THREAD_B;
	if (streams <= cpus)
		turns.yield_B = UINT64_MAX;
	return turns;
}
