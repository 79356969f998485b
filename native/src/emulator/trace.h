/* trace: opportunities to transmit, in place of a constant rate, in the format of mahimahi.
 *
 * A file has the ms of an opportunity in each line, ascending; each carries NL_TRACE_B on the link, at
 * once, and is gone if nothing waits. The last line is also the time after which the file begins anew. */
#pragma once

#include "base/error.h"

#include <stdint.h>

enum {
	NL_TRACE_B = 1514, /* an IP packet of 1500 bytes in its frame */
	NL_TRACE_LINES_MAX = 1000000,
	NL_TRACE_MS_MAX = 86400000,
};

struct nl_trace {
	uint32_t *ms; /* [count], ascending; the last one is above 0 */
	uint64_t count;
};

/* Read a file; an error names the line. Free it in any case. */
int nl_trace_read(struct nl_trace *trace, const char *path, struct nl_err *err);
void nl_trace_free(struct nl_trace *trace);

/* Time of the n-th opportunity, from 0, since the beginning. */
uint64_t nl_trace_ns(const struct nl_trace *trace, uint64_t n);
/* The first opportunity that is not before a time since the beginning. */
uint64_t nl_trace_from(const struct nl_trace *trace, uint64_t since_ns);
