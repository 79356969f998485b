#include "error.h"
#include "procfs.h"
#include "rtnl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Holds /proc/stat of NL_CPUS_MAX CPUs and some thousand interrupt lines. */
enum { TEXT_MAX = 1 << 20 };

static uint64_t microseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static int read_host(char *text, struct nl_meter *out, struct nl_err *err)
{
	uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	long len = nl_procfs_read("/proc/stat", text, TEXT_MAX);

	if (len < 0)
		return nl_fail_errno(err, errno, "read /proc/stat");
	if (nl_procfs_stat(text, (size_t)len, tick_us, out))
		return nl_fail(err, NL_INTERNAL, "/proc/stat is not as expected");
	len = nl_procfs_read("/proc/net/softnet_stat", text, TEXT_MAX);
	if (len < 0)
		return nl_fail_errno(err, errno, "read /proc/net/softnet_stat");
	if (nl_procfs_softnet(text, (size_t)len, out))
		return nl_fail(err, NL_INTERNAL, "/proc/net/softnet_stat is not as expected");
	return NL_OK;
}

int nl_meter_read(const char *interface, struct nl_meter *out, struct nl_err *err)
{
	struct nl_meter *now = calloc(1, sizeof(*now));
	char *text = malloc(TEXT_MAX);
	struct rusage usage;
	int code = NL_OK, errnum;

	if (!now || !text) {
		code = nl_fail_errno(err, ENOMEM, "memory for a meter snapshot");
		goto out;
	}
	now->t_ns = nl_now_ns();
	if (interface && *interface) {
		errnum = nl_rtnl_interface(interface, &now->ifindex, &now->interface);
		if (errnum == ENODEV)
			code = nl_fail_key(err, "interface", "there is no interface %s", interface);
		else if (errnum)
			code = nl_fail_errno(err, errnum, "rtnetlink counters of %s", interface);
		if (code)
			goto out;
		snprintf(now->name, sizeof(now->name), "%s", interface);
	}
	code = read_host(text, now, err);
	if (code)
		goto out;
	getrusage(RUSAGE_SELF, &usage);
	now->process_user_us = microseconds(usage.ru_utime);
	now->process_system_us = microseconds(usage.ru_stime);
	memcpy(out, now, sizeof(*out));
out:
	free(text);
	free(now);
	return code;
}

/* CPU times of an idle processor may step back a little when read (see proc(5), iowait). */
static uint64_t grown(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static void diff_interface(const struct nl_meter *before, const struct nl_meter *after,
			   struct nl_meter_span *out)
{
	const struct nl_interface *a = &before->interface, *b = &after->interface;
	const struct {
		uint64_t before, after, *out;
	} row[] = {
		{a->rx_bytes, b->rx_bytes, &out->interface.rx_bytes},
		{a->tx_bytes, b->tx_bytes, &out->interface.tx_bytes},
		{a->rx_packets, b->rx_packets, &out->interface.rx_packets},
		{a->tx_packets, b->tx_packets, &out->interface.tx_packets},
		{a->rx_errors, b->rx_errors, &out->interface.rx_errors},
		{a->tx_errors, b->tx_errors, &out->interface.tx_errors},
		{a->rx_dropped, b->rx_dropped, &out->interface.rx_dropped},
		{a->tx_dropped, b->tx_dropped, &out->interface.tx_dropped},
	};

	if (before->ifindex != after->ifindex || after->ifindex == 0)
		out->reset = 1;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (row[i].after < row[i].before)
			out->reset = 1;
		*row[i].out = grown(row[i].before, row[i].after);
	}
}

static void diff_cpus(const struct nl_meter *before, const struct nl_meter *after,
		      struct nl_meter_span *out)
{
	/* rows come in order of CPU number; a CPU that came or went between is left out */
	for (uint64_t i = 0, k = 0; i < before->cpus && k < after->cpus;) {
		const struct nl_cpu *a = &before->cpu[i], *b = &after->cpu[k];
		struct nl_cpu *to = &out->cpu[out->cpus];

		if (a->cpu < b->cpu) {
			i++;
			continue;
		}
		if (a->cpu > b->cpu) {
			k++;
			continue;
		}
		to->cpu = a->cpu;
		to->user_us = grown(a->user_us, b->user_us);
		to->nice_us = grown(a->nice_us, b->nice_us);
		to->system_us = grown(a->system_us, b->system_us);
		to->idle_us = grown(a->idle_us, b->idle_us);
		to->iowait_us = grown(a->iowait_us, b->iowait_us);
		to->irq_us = grown(a->irq_us, b->irq_us);
		to->softirq_us = grown(a->softirq_us, b->softirq_us);
		to->steal_us = grown(a->steal_us, b->steal_us);
		out->cpus++;
		i++;
		k++;
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
	diff_cpus(before, after, out);
	out->interrupts = grown(before->interrupts, after->interrupts);
	out->context_switches = grown(before->context_switches, after->context_switches);
	/* unsigned 32-bit arithmetic sees through one wrap of the kernel's counters */
	out->softnet_processed = (uint32_t)(after->softnet_processed - before->softnet_processed);
	out->softnet_dropped = (uint32_t)(after->softnet_dropped - before->softnet_dropped);
	out->softnet_time_squeeze =
		(uint32_t)(after->softnet_time_squeeze - before->softnet_time_squeeze);
	out->process_user_us = grown(before->process_user_us, after->process_user_us);
	out->process_system_us = grown(before->process_system_us, after->process_system_us);
}
