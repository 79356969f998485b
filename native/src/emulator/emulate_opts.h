/* emulate_opts: parse the emulator's requests. */
#pragma once

#include "base/request.h"
#include "emulator/link.h"

enum { NL_NAMESPACE_MAX = 256, NL_DEVICE_MAX = 15 };

/* A path is one link each way, or two in a row: hop 0 at the first end, hop 1 at the second. Links are numbered
 * 2 * hop + direction. */
enum { NL_HOPS = 2, NL_LINKS = 2 * NL_HOPS, NL_PORT_RANGES_MAX = 8 };

struct nl_port_range {
	uint64_t first, last;
};

/* TCP from or to these ports passes one hop alone. */
struct nl_emulate_spans {
	struct nl_port_range range[NL_HOPS][NL_PORT_RANGES_MAX];
	uint32_t ranges[NL_HOPS];
};

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

/* Parse a `set`: *link is 0 for direction=ab, 1 for ba, and 2 more for hop=2. Changes opts[*link] only if the
 * whole request is valid. */
int nl_emulate_set_from_request(struct nl_request *request, int *link, struct nl_link_opts opts[NL_LINKS],
				struct nl_emulate_drops *plan, struct nl_err *err);

/* Parse a `span`. Changes *spans only if the whole request is valid. */
int nl_emulate_spans_from_request(struct nl_request *request, struct nl_emulate_spans *spans, struct nl_err *err);

/* The only hop that a packet of TCP with these ports passes; -1: both. */
int nl_emulate_only_hop(const struct nl_emulate_spans *spans, const uint16_t port[2]);

int nl_emulate_ends_from_request(struct nl_request *request, struct nl_emulate_ends *ends,
				 struct nl_err *err);
