/* emulate_opts: from the words of requests to what the emulator is asked to do. */
#ifndef NL_EMULATE_OPTS_H
#define NL_EMULATE_OPTS_H

#include "base/request.h"
#include "emulator/link.h"
#include "netlab.h"

enum { NL_NAMESPACE_MAX = 256, NL_DEVICE_MAX = 15 };

struct nl_emulate_ends {
	char namespace[2][NL_NAMESPACE_MAX + 1], device[2][NL_DEVICE_MAX + 1];
	uint64_t sample_ms;
	uint64_t late_us;
};

/* What `set` asks for beyond lasting options. */
struct nl_emulate_drops {
	uint64_t drop_at[NL_DROP_PLAN_MAX];
	uint32_t drops;      /* 0: none */
	int forget;          /* what was asked for before */
	uint64_t drop_at_ms; /* UINT64_MAX: none */
};

/* Link `direction=ab|ba` of a `set`: 0 or 1 in *link. opts[2] are changed where the request
 * says so and only when all of it is good. */
int nl_emulate_set_from_request(struct nl_request *request, int *link, struct nl_link_opts opts[2],
				struct nl_emulate_drops *script, struct nl_err *err);

int nl_emulate_ends_from_request(struct nl_request *request, struct nl_emulate_ends *ends,
				 struct nl_err *err);

#endif
