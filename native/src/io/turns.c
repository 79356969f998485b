#include "io/turns.h"

struct nl_turns nl_turns_of(uint64_t streams, uint64_t threads, uint64_t cpus,
			    struct nl_outlet outlet)
{
	uint64_t at_once = threads < cpus ? threads : cpus;
	int large_packets = outlet.packet_B >= NL_OUTLET_LARGE_B;
	struct nl_turns turns = {.stream_B = NL_TURN_PACKETS * outlet.packet_B,
				 .yield_B = NL_TURN_YIELD_B};

	if (streams == threads)
		turns.yield_B = NL_TURN_THREAD_B;
	if (large_packets && streams >= NL_TURN_LARGE_SET * threads)
		turns.stream_B = turns.yield_B = NL_TURN_LARGE_SET_B;
	if (!large_packets && at_once > outlet.queues)
		turns.stream_B = turns.yield_B = NL_TURN_SHARED_B;
	if (streams <= cpus)
		turns.yield_B = UINT64_MAX;
	return turns;
}
