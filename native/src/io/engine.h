/* engine: which engine and which method a run has. */
#ifndef NL_ENGINE_H
#define NL_ENGINE_H

#include "io/batch.h"
#include "netlab.h"

struct nl_engine;
struct nl_io_method;

struct nl_choice {
	const struct nl_engine *engine;
	const struct nl_io_method *method;
	uint64_t threads;
	int blocking; /* the sockets */
	struct nl_batch batch;
	int delays_reads;
};

/* Choose for the run. What this kernel lacks is NL_REFUSED with the reason, unless the
 * engine is `auto`, which takes what works best here. */
int nl_engine_choose(const struct nl_run_opts *opts, struct nl_choice *out, struct nl_err *err);

#endif
