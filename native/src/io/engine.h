/* engine: choose the engine and the I/O method of a run. */
#ifndef NL_ENGINE_H
#define NL_ENGINE_H

#include "netlab.h"

struct nl_engine;
struct nl_io_method;

struct nl_choice {
	const struct nl_engine *engine;
	const struct nl_io_method *method;
	uint64_t threads;
	int blocking; /* mode of the sockets */
	struct nl_policy policy;
};

/* Choose for the run. NL_REFUSED with the reason if this kernel lacks support; `auto` chooses an
 * engine that it has. */
int nl_engine_choose(const struct nl_run_opts *opts, struct nl_choice *out, struct nl_err *err);

#endif
