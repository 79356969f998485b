#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "meter/counters.h"
#include "meter/meter_poll.h"
#include "meter/procfs.h"
#include "net/rtnl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fits /proc/stat of NL_CPUS_MAX CPUs and some thousand interrupt lines. */
enum { TEXT_MAX = 1 << 20 };

static int read_host(char *text, struct nl_meter *out, struct nl_err *err)
{
	uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	long len = nl_file_read("/proc/stat", text, TEXT_MAX);

	if (len < 0)
		return nl_fail_errno(err, errno, "read /proc/stat");
	if (nl_procfs_stat(text, (size_t)len, tick_us, out))
		return nl_fail(err, NL_INTERNAL, "/proc/stat: unknown format");
	len = nl_file_read("/proc/net/softnet_stat", text, TEXT_MAX);
	out->has_softnet = len > 0; /* a container may mask it by an empty file */
	if (out->has_softnet && nl_procfs_softnet(text, (size_t)len, out))
		return nl_fail(err, NL_INTERNAL, "/proc/net/softnet_stat: unknown format");
	return NL_OK;
}

int nl_meter_read(const char *interface, struct nl_meter *out, struct nl_err *err)
{
	struct nl_meter *now = calloc(1, sizeof(*now));
	char *text = malloc(TEXT_MAX);
	uint64_t cpu_us[2];
	int code = NL_OK, errnum = 0;

	if (!now || !text)
		code = nl_fail_errno(err, ENOMEM, "memory for a meter snapshot");
	if (!code) {
		now->t_ns = nl_now_ns();
		nl_clocks_read(&now->clocks);
	}
	if (!code && interface && *interface) {
		snprintf(now->name, sizeof(now->name), "%s", interface);
		errnum = nl_rtnl_interface(interface, &now->ifindex, &now->interface);
	}
	if (errnum == ENODEV)
		code = nl_fail_key(err, "interface", "no such interface: %s", interface);
	else if (errnum)
		code = nl_fail_errno(err, errnum, "rtnetlink counters of %s", interface);
	if (!code)
		code = read_host(text, now, err);
	if (!code) {
		nl_throttle_read(NL_CPU_ROOT, now);
		nl_process_cpu_us(cpu_us);
		now->process_user_us = cpu_us[0];
		now->process_system_us = cpu_us[1];
		*out = *now;
	}
	free(text);
	free(now);
	return code;
}

/* CPU times of an idle CPU may decrease slightly (see proc(5), iowait). */
static uint64_t counter_grown(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static void diff_interface(const struct nl_meter *before, const struct nl_meter *after,
			   struct nl_meter_span *out)
{
	struct nl_counters counters;

	nl_counters_begin(&counters, before->ifindex, &before->interface);
	nl_counters_follow(&counters, after->ifindex, &after->interface);
	for (int i = 0; i < NL_INTERFACE_COUNTERS; i++) {
		const struct nl_counter *counter = &nl_interface_counters[i];

		nl_counter_set(counter, &out->interface, nl_counter_get(counter, &counters.steady) -
							       nl_counter_get(counter, &before->interface));
	}
	out->wraps = counters.wraps + after->wraps - before->wraps;
	out->reset = counters.resets > 0 || after->resets != before->resets || after->ifindex == 0;
}

/* Combine the findings of a meter_poll with the difference of the two readings. */
static void diff_clocks(const struct nl_meter *before, const struct nl_meter *after,
			struct nl_meter_span *out)
{
	struct nl_clock_steps steps = {.reference = before->clocks};

	nl_clock_steps_follow(&steps, &after->clocks);
	out->clock_steps = after->clock_steps - before->clock_steps;
	if (out->clock_steps) {
		out->clock_step_ns = after->clock_step_ns;
	} else {
		out->clock_steps = steps.steps;
		out->clock_step_ns = steps.step_ns;
	}
	out->clock_drift_ns = after->clocks.raw_behind_ns - before->clocks.raw_behind_ns;
	out->clock_unsure_ns = after->clocks.unsure_ns + before->clocks.unsure_ns;
}

static void diff_cpus(const struct nl_meter *before, const struct nl_meter *after,
		      struct nl_meter_span *out)
{
	/* rows are sorted by CPU number; skip a CPU that appeared or vanished in between */
	for (uint64_t i = 0, k = 0; i < before->cpus && k < after->cpus;) {
		const struct nl_cpu *a = &before->cpu[i], *b = &after->cpu[k];
		struct nl_cpu *to = &out->cpu[out->cpus];

		i += a->cpu <= b->cpu;
		k += b->cpu <= a->cpu;
		if (a->cpu != b->cpu)
			continue;
		*to = *b;
		for (int time = 0; time < NL_CPU_TIMES; time++)
			nl_counter_set(&nl_cpu_times[time], to, counter_grown(nl_counter_get(&nl_cpu_times[time], a),
									      nl_counter_get(&nl_cpu_times[time], b)));
		to->first_frequency_kHz = a->frequency_kHz;
		to->throttled -= a->throttled;
		if (a->throttled < 0 || b->throttled < a->throttled)
			to->throttled = -1;
		out->cpus++;
	}
}

void nl_meter_diff(const struct nl_meter *before, const struct nl_meter *after,
		   struct nl_meter_span *out)
{
	memset(out, 0, sizeof(*out));
	out->t0_ns = before->t_ns;
	out->t1_ns = after->t_ns;
	memcpy(out->name, before->name, sizeof(out->name));
	if (before->name[0])
		diff_interface(before, after, out);
	diff_clocks(before, after, out);
	diff_cpus(before, after, out);
	out->interrupts = counter_grown(before->interrupts, after->interrupts);
	out->context_switches = counter_grown(before->context_switches, after->context_switches);
	out->has_softnet = before->has_softnet && after->has_softnet;
	/* unsigned 32-bit arithmetic absorbs one wrap of the kernel's counters */
	out->softnet_processed = (uint32_t)(after->softnet_processed - before->softnet_processed);
	out->softnet_dropped = (uint32_t)(after->softnet_dropped - before->softnet_dropped);
	out->softnet_time_squeeze =
		(uint32_t)(after->softnet_time_squeeze - before->softnet_time_squeeze);
	out->process_user_us = counter_grown(before->process_user_us, after->process_user_us);
	out->process_system_us = counter_grown(before->process_system_us, after->process_system_us);
}
