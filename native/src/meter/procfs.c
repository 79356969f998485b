#include "meter/procfs.h"

#include "base/files.h"
#include "base/request.h"
#include "meter/counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A cursor within one line. */
struct cursor {
	const char *at, *end;
};

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && *c->at == ' ')
		c->at++;
}

static int take_decimal(struct cursor *c, uint64_t *out)
{
	skip_blanks(c);
	return nl_decimal_take(&c->at, c->end, out);
}

static int take_hex32(struct cursor *c, uint32_t *out)
{
	int digits = 0;

	skip_blanks(c);
	*out = 0;
	for (; c->at < c->end && digits < 8 && nl_hex_digit(*c->at) >= 0; c->at++, digits++)
		*out = *out * 16 + (uint32_t)nl_hex_digit(*c->at);
	return digits ? 0 : -1;
}

static int take_word(struct cursor *c, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(c->end - c->at) < len || memcmp(c->at, word, len) != 0)
		return 0;
	c->at += len;
	return 1;
}

/* The next line of text, without its newline. */
static int next_line(const char **text, const char *end, struct cursor *line)
{
	const char *newline;

	if (*text >= end)
		return 0;
	newline = memchr(*text, '\n', (size_t)(end - *text));
	line->at = *text;
	line->end = newline ? newline : end;
	*text = newline ? newline + 1 : end;
	return 1;
}

static int take_cpu(struct cursor *line, uint64_t tick_us, struct nl_cpu *cpu)
{
	if (take_decimal(line, &cpu->cpu))
		return -1;
	for (int i = 0; i < NL_CPU_TIMES; i++) {
		uint64_t ticks;

		if (take_decimal(line, &ticks))
			return -1;
		nl_counter_set(&nl_cpu_times[i], cpu, ticks * tick_us);
	}
	return 0;
}

int nl_procfs_stat(const char *text, size_t len, uint64_t tick_us, struct nl_meter *out)
{
	const char *end = text + len;
	struct cursor line;
	int seen = 0;

	out->cpus = 0;
	while (next_line(&text, end, &line)) {
		if (take_word(&line, "intr ")) {
			if (take_decimal(&line, &out->interrupts))
				return -1;
			seen |= 1;
		} else if (take_word(&line, "ctxt ")) {
			if (take_decimal(&line, &out->context_switches))
				return -1;
			seen |= 2;
		} else if (take_word(&line, "cpu")) {
			if (line.at < line.end && *line.at == ' ')
				continue; /* the `cpu` row is the total */
			if (out->cpus == NL_CPUS_MAX)
				continue;
			if (take_cpu(&line, tick_us, &out->cpu[out->cpus]))
				return -1;
			out->cpus++;
		}
	}
	return seen == 3 && out->cpus > 0 ? 0 : -1;
}

int nl_procfs_softnet(const char *text, size_t len, struct nl_meter *out)
{
	const char *end = text + len;
	struct cursor line;
	int rows = 0;

	out->softnet_processed = out->softnet_dropped = out->softnet_time_squeeze = 0;
	while (next_line(&text, end, &line)) {
		uint32_t processed, dropped, squeezed;

		if (take_hex32(&line, &processed) || take_hex32(&line, &dropped) ||
		    take_hex32(&line, &squeezed))
			return -1;
		out->softnet_processed += processed;
		out->softnet_dropped += dropped;
		out->softnet_time_squeeze += squeezed;
		rows++;
	}
	return rows > 0 ? 0 : -1;
}

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
