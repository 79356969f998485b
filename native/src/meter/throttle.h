/* throttle: frequency and thermal throttling of each CPU, from sysfs. */
#ifndef NL_THROTTLE_H
#define NL_THROTTLE_H

#include "netlab.h"

#define NL_CPU_ROOT "/sys/devices/system/cpu"

/* Fill frequency_kHz and throttled of the CPUs in out->cpu, from files below `root`:
 * cpuN/cpufreq/scaling_cur_freq, and cpuN/thermal_throttle/{core,package}_throttle_count. An absent
 * or malformed frequency is 0; throttled is the sum of the counts that there are, -1 without one. */
void nl_throttle_read(const char *root, struct nl_meter *out);

#endif
