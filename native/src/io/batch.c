#include "io/batch.h"

struct nl_batch nl_batch_of(uint64_t streams, uint64_t threads, uint64_t cpus,
			    struct nl_egress egress)
{
	uint64_t at_once = threads < cpus ? threads : cpus;
	int large_packets = egress.packet_B >= NL_EGRESS_LARGE_B;
	struct nl_batch batch = {.stream_B = NL_BATCH_PACKETS * egress.packet_B,
				 .yield_B = NL_BATCH_YIELD_B};

	if (streams == threads)
		batch.yield_B = NL_BATCH_THREAD_B;
	if (large_packets && streams >= NL_BATCH_LARGE_SET * threads)
		batch.stream_B = batch.yield_B = NL_BATCH_LARGE_SET_B;
	if (!large_packets && at_once > egress.queues)
		batch.stream_B = batch.yield_B = NL_BATCH_SHARED_B;
	if (streams <= cpus)
		batch.yield_B = UINT64_MAX;
	return batch;
}
