/* emulate_opts: parse the emulator's requests. */
#pragma once

#include "base/request.h"
#include "emulator/link.h"

enum { NL_NAMESPACE_MAX = 256, NL_DEVICE_MAX = 15 };

struct nl_emulate_ends {
	char namespace[2][NL_NAMESPACE_MAX + 1], device[2][NL_DEVICE_MAX + 1];
	uint64_t sample_ms;
	uint64_t late_us;
};

/* The part of a `set` that is not a lasting option. */
struct nl_emulate_drops {
	uint64_t drop_at[NL_DROP_PLAN_MAX];
	uint32_t drops;      /* 0: none */
	int forget;          /* cancel earlier plans */
	uint64_t drop_at_ms; /* UINT64_MAX: none */
	const char *trace;   /* path of a file in the request; NULL: none */
};

/* Parse a `set`: *link is 0 for direction=ab, 1 for ba. Changes opts[*link] only if the whole
 * request is valid. */
int nl_emulate_set_from_request(struct nl_request *request, int *link, struct nl_link_opts opts[2],
				struct nl_emulate_drops *plan, struct nl_err *err);

int nl_emulate_ends_from_request(struct nl_request *request, struct nl_emulate_ends *ends,
				 struct nl_err *err);
