/* Frequency and throttling counts are read from a tree of files like that of sysfs. */
#include "check.h"
#include "meter/procfs.h"

#include <sys/stat.h>

static char root[] = "/tmp/nl-throttle-XXXXXX";
static struct nl_meter before, after;
static struct nl_meter_span span;

static void write_file(const char *directory, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", root, directory, name);
	file = fopen(path, "w");
	CHECK(file);
	fputs(text, file);
	fclose(file);
}

static void make_tree(void)
{
	char command[96];

	CHECK(mkdtemp(root));
	snprintf(command, sizeof(command), "cd %s && mkdir cpu0 cpu1 cpu2", root);
	CHECK(system(command) == 0);
	memset(&before, 0, sizeof(before));
	before.cpus = 3;
	for (uint64_t i = 0; i < before.cpus; i++)
		before.cpu[i].cpu = i;
	after = before;
}

static void remove_tree(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK(system(command) == 0);
	memcpy(root + sizeof(root) - 7, "XXXXXX", 6);
}

#define IN_TREE(function) TEST_WITH(function, make_tree, remove_tree)

IN_TREE(frequencies_and_counts_are_read_by_cpu)
{
	write_file("cpu0/cpufreq", "scaling_cur_freq", "3400000\n");
	write_file("cpu0/thermal_throttle", "core_throttle_count", "7\n");
	write_file("cpu0/thermal_throttle", "package_throttle_count", "5\n");
	write_file("cpu1/thermal_throttle", "core_throttle_count", "0\n");
	nl_throttle_read(root, &before);
	CHECK(before.cpu[0].frequency_kHz == 3400000 && before.cpu[0].throttled == 12);
	CHECK(before.cpu[1].frequency_kHz == 0 && before.cpu[1].throttled == 0);
	CHECK(before.cpu[2].frequency_kHz == 0 && before.cpu[2].throttled == -1);
}

IN_TREE(a_span_has_both_frequencies_and_the_growth)
{
	write_file("cpu0/cpufreq", "scaling_cur_freq", "3400000\n");
	write_file("cpu0/thermal_throttle", "core_throttle_count", "7\n");
	write_file("cpu1/thermal_throttle", "core_throttle_count", "9\n");
	nl_throttle_read(root, &before);
	write_file("cpu0/cpufreq", "scaling_cur_freq", "1200000\n");
	write_file("cpu0/thermal_throttle", "core_throttle_count", "10\n");
	write_file("cpu1/thermal_throttle", "core_throttle_count", "8\n"); /* reset */
	nl_throttle_read(root, &after);
	nl_meter_diff(&before, &after, &span);
	CHECK(span.cpu[0].first_frequency_kHz == 3400000 && span.cpu[0].frequency_kHz == 1200000);
	CHECK(span.cpu[0].throttled == 3);
	CHECK(span.cpu[1].throttled == -1 && span.cpu[2].throttled == -1);
}

IN_TREE(malformed_files_are_unknown)
{
	static const char *const text[] = {"", "\n", "-1\n", "<unknown>\n", "12 34\n",
					   "99999999999999999999\n"};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		write_file("cpu0/cpufreq", "scaling_cur_freq", text[i]);
		write_file("cpu0/thermal_throttle", "core_throttle_count", text[i]);
		nl_throttle_read(root, &before);
		CHECK(before.cpu[0].frequency_kHz == 0 && before.cpu[0].throttled == -1);
	}
}

IN_TREE(an_absent_tree_is_unknown)
{
	nl_throttle_read("/nonexistent", &before);
	CHECK(before.cpu[0].frequency_kHz == 0 && before.cpu[0].throttled == -1);
}
