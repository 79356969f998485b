#include "meter/throttle.h"

#include "base/file_read.h"
#include "base/request.h"

#include <inttypes.h>
#include <stdio.h>

/* The decimal number of a sysfs file. 0, or -1 where it is absent or malformed. */
static int read_number(const char *root, uint64_t cpu, const char *name, uint64_t *out)
{
	const uint64_t most = UINT64_C(999999999999999999); /* the sum of two fits 63 bits */
	char path[256], text[32];
	long len;
	int wrote = snprintf(path, sizeof(path), "%s/cpu%" PRIu64 "/%s", root, cpu, name);

	if (wrote < 0 || (size_t)wrote >= sizeof(path))
		return -1;
	len = nl_file_read(path, text, sizeof(text));
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return len > 0 ? nl_decimal_parse(text, 0, most, out) : -1;
}

void nl_throttle_read(const char *root, struct nl_meter *out)
{
	for (uint64_t i = 0; i < out->cpus; i++) {
		struct nl_cpu *cpu = &out->cpu[i];
		uint64_t core = 0, package = 0;
		int no_core, no_package;

		if (read_number(root, cpu->cpu, "cpufreq/scaling_cur_freq", &cpu->frequency_kHz))
			cpu->frequency_kHz = 0;
		no_core = read_number(root, cpu->cpu, "thermal_throttle/core_throttle_count", &core);
		no_package =
			read_number(root, cpu->cpu, "thermal_throttle/package_throttle_count", &package);
		cpu->throttled = no_core && no_package ? -1 : (int64_t)(core + package);
	}
}
