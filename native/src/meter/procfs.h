/* procfs: pure parsers of /proc/stat and /proc/net/softnet_stat text. */
#pragma once

#include "netlab.h"

/* Fill cpu[], cpus, interrupts and context_switches from len bytes of /proc/stat.
 * tick_us is the length of a clock tick. 0, or -1 when the text is not /proc/stat. */
int nl_procfs_stat(const char *text, size_t len, uint64_t tick_us, struct nl_meter *out);

/* Sum processed, dropped and time_squeeze over all rows. 0, or -1. */
int nl_procfs_softnet(const char *text, size_t len, struct nl_meter *out);

/* Frequency and thermal throttling of each CPU, from sysfs. */
#define NL_CPU_ROOT "/sys/devices/system/cpu"

/* Fill frequency_kHz and throttled of the CPUs in out->cpu, from files below `root`:
 * cpuN/cpufreq/scaling_cur_freq, and cpuN/thermal_throttle/{core,package}_throttle_count. An absent
 * or malformed frequency is 0; throttled is the sum of the counts that there are, -1 without one. */
void nl_throttle_read(const char *root, struct nl_meter *out);
