#include "meter/procfs.h"

#include "base/request.h"

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
	for (int i = NL_CPU_FIRST_TIME; i <= NL_CPU_LAST_TIME; i++) {
		uint64_t ticks;

		if (take_decimal(line, &ticks))
			return -1;
		((uint64_t *)cpu)[i] = ticks * tick_us;
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
