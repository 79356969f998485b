/* Memory copy rate of one thread: a ceiling for any memory-to-memory transfer. */
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HOT_B = 64 * 1024, COLD_B = 64 * 1024 * 1024, STEP_B = 1024 * 1024, PATIENCE = 4 };

/* Copy len bytes in steps until the thread has had so much time of a CPU, or has waited for it for
 * long; returns bytes per second of that time. While it waits it copies nothing, and its memory is
 * no slower for it. */
static uint64_t copy_rate(uint8_t *to, const uint8_t *from, size_t len, size_t step, uint64_t budget_ns)
{
	uint64_t start_ns = nl_thread_cpu_ns(), now_ns = nl_now_ns();
	uint64_t due_ns = now_ns + budget_ns, last_ns = now_ns + PATIENCE * budget_ns;
	uint64_t used_ns = 0, bytes = 0;
	size_t at = 0;

	do {
		memcpy(to + at, from + at, step);
		/* keep the compiler from removing a copy that is never read */
		__asm__ volatile("" : : "r"(to) : "memory");
		bytes += step;
		at += step;
		if (at == len)
			at = 0;
		/* the thread's clock is a system call, as long as a tenth of a copy within the cache */
		now_ns = nl_now_ns();
		if (now_ns >= due_ns) {
			used_ns = nl_thread_cpu_ns() - start_ns;
			due_ns = now_ns + budget_ns - used_ns;
		}
	} while (used_ns < budget_ns && now_ns < last_ns);
	used_ns = nl_thread_cpu_ns() - start_ns;
	return (uint64_t)((double)bytes * 1e9 / (double)used_ns);
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
	out->cold_Bps = copy_rate(to, from, COLD_B, STEP_B, budget_ns);
	out->hot_Bps = copy_rate(to, from, HOT_B, HOT_B, budget_ns);
	free(from);
	free(to);
	return NL_OK;
}
