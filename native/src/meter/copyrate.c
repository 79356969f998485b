/* Memory copy rate of one thread: a ceiling for any memory-to-memory transfer. */
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HOT_B = 64 * 1024, COLD_B = 64 * 1024 * 1024, STEP_B = 1024 * 1024 };

/* Copy len bytes in steps until the time is up; returns bytes per second. */
static uint64_t rate(uint8_t *to, const uint8_t *from, size_t len, size_t step, uint64_t budget_ns)
{
	uint64_t start = nl_now_ns(), now, bytes = 0;
	size_t at = 0;

	do {
		memcpy(to + at, from + at, step);
		/* keep the compiler from removing a copy that is never read */
		__asm__ volatile("" : : "r"(to) : "memory");
		bytes += step;
		at += step;
		if (at == len)
			at = 0;
		now = nl_now_ns();
	} while (now - start < budget_ns);
	return (uint64_t)((double)bytes * 1e9 / (double)(now - start));
}

int nl_copy_rate(uint64_t budget_ms, struct nl_copy_report *out, struct nl_err *err)
{
	uint64_t budget_ns = budget_ms * NL_NS_PER_MS / 2;
	uint8_t *from, *to;

	if (budget_ms < 1 || budget_ms > 60000)
		return nl_fail_key(err, "budget_ms", "budget_ms: expected an integer from 1 to 60000");
	from = malloc(COLD_B);
	to = malloc(COLD_B);
	if (!from || !to) {
		free(from);
		free(to);
		return nl_fail_errno(err, ENOMEM, "memory to copy");
	}
	/* touched beforehand, so that no page fault is timed */
	memset(from, 1, COLD_B);
	memset(to, 2, COLD_B);
	out->cold_Bps = rate(to, from, COLD_B, STEP_B, budget_ns);
	out->hot_Bps = rate(to, from, HOT_B, HOT_B, budget_ns);
	free(from);
	free(to);
	return NL_OK;
}
