#include "emulator/trace.h"

#include "base/clock.h"
#include "base/request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_B = 32 };

static int add_line(struct nl_trace *trace, const char *line, struct nl_err *err)
{
	const char *at = line, *end = line + strcspn(line, "\r\n");
	uint64_t least = trace->count ? trace->ms[trace->count - 1] : 0, ms;

	if (nl_decimal_take(&at, end, &ms) || at != end || ms < least || ms > NL_TRACE_MS_MAX)
		return nl_fail_key(err, "trace", "trace: line %" PRIu64 ": expected ms from %" PRIu64 " to %d",
				   trace->count + 1, least, NL_TRACE_MS_MAX);
	if (trace->count == NL_TRACE_LINES_MAX)
		return nl_fail_key(err, "trace", "trace: more than %d lines", NL_TRACE_LINES_MAX);
	trace->ms[trace->count++] = (uint32_t)ms;
	return NL_OK;
}

static int read_lines(struct nl_trace *trace, FILE *file, struct nl_err *err)
{
	char line[LINE_MAX_B];

	while (fgets(line, sizeof(line), file))
		if (add_line(trace, line, err))
			return err->code;
	if (ferror(file))
		return nl_fail_errno(err, errno, "trace");
	if (!trace->count || !trace->ms[trace->count - 1])
		return nl_fail_key(err, "trace", "trace: the last line is to be above 0");
	return NL_OK;
}

int nl_trace_read(struct nl_trace *trace, const char *path, struct nl_err *err)
{
	FILE *file = fopen(path, "re");
	int code;

	*trace = (struct nl_trace){0};
	if (!file)
		return nl_fail_errno(err, errno, "open %s", path);
	trace->ms = calloc(NL_TRACE_LINES_MAX, sizeof(*trace->ms));
	code = trace->ms ? read_lines(trace, file, err) : nl_fail_errno(err, ENOMEM, "memory for a trace");
	fclose(file);
	return code;
}

void nl_trace_free(struct nl_trace *trace)
{
	free(trace->ms);
	*trace = (struct nl_trace){0};
}

static uint64_t period_ns(const struct nl_trace *trace)
{
	return trace->ms[trace->count - 1] * NL_NS_PER_MS;
}

uint64_t nl_trace_ns(const struct nl_trace *trace, uint64_t n)
{
	return n / trace->count * period_ns(trace) + trace->ms[n % trace->count] * NL_NS_PER_MS;
}

uint64_t nl_trace_from(const struct nl_trace *trace, uint64_t since_ns)
{
	/* the last opportunity of a period is at its very end */
	uint64_t period = since_ns ? (since_ns - 1) / period_ns(trace) : 0;
	uint64_t rest_ns = since_ns - period * period_ns(trace), low = 0, high = trace->count - 1;

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (trace->ms[middle] * NL_NS_PER_MS < rest_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return period * trace->count + low;
}
