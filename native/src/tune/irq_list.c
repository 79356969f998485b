#include "tune/irq_list.h"

#include "base/cpulist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_MAX = 1024, ITEM_MAX = 120, RUN_MIN = 3 };

/* Append to out as snprintf does; *len passes size if it does not fit. */
#define ADD(out, size, len, ...)                                                                   \
	do {                                                                                       \
		if (*(len) < (size))                                                               \
			*(len) += (size_t)snprintf((out) + *(len), (size) - *(len), __VA_ARGS__);  \
	} while (0)

static int by_number(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* Bring a CPU list into the kernel's notation: ascending, with ranges. 0, or -1. */
static int canonical(const char *text, char out[NL_IRQ_CPUS_MAX + 1])
{
	uint16_t cpu[CPUS_MAX];
	size_t count, len = 0, last;

	if (nl_cpulist_parse(text, cpu, CPUS_MAX, &count) < 0)
		return -1;
	qsort(cpu, count, sizeof(cpu[0]), by_number);
	for (size_t i = 0; i < count; i = last + 1) {
		for (last = i; last + 1 < count && cpu[last + 1] == cpu[last] + 1;)
			last++;
		ADD(out, NL_IRQ_CPUS_MAX + 1, &len, last > i ? "%s%u-%u" : "%s%u", i ? "," : "", cpu[i],
		    cpu[last]);
	}
	return len <= NL_IRQ_CPUS_MAX ? 0 : -1;
}

/* A decimal number up to 8191 or up to `most`; moves *at past it. 0, or -1. */
static int take_number(const char **at, unsigned most, unsigned *out)
{
	const char *start = *at;

	*out = 0;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		*out = *out * 10 + (unsigned)(**at - '0');
		if (*out > most)
			return -1;
	}
	return *at > start ? 0 : -1;
}

static int add(struct nl_irq_list *list, const char *cpus)
{
	if (list->count == NL_IRQS_MAX)
		return -1;
	list->number[list->count] = 0;
	memcpy(list->cpus[list->count++], cpus, strlen(cpus) + 1);
	return 0;
}

/* One item: CPULIST, CPULIST*N or A..B. 0, or -1. */
static int take_item(const char *item, struct nl_irq_list *out)
{
	const char *dots = strstr(item, ".."), *star = strchr(item, '*');
	char list[ITEM_MAX + 1], cpus[NL_IRQ_CPUS_MAX + 1];
	unsigned first, last, times = 1;

	if (dots) {
		const char *at = item, *end = dots + 2;

		if (take_number(&at, NL_CPU_NUMBER_MAX, &first) || at != dots ||
		    take_number(&end, NL_CPU_NUMBER_MAX, &last) || *end || last < first)
			return -1;
		for (unsigned cpu = first; cpu <= last; cpu++) {
			snprintf(cpus, sizeof(cpus), "%u", cpu);
			if (add(out, cpus) < 0)
				return -1;
		}
		return 0;
	}
	memcpy(list, item, strlen(item) + 1);
	if (star) {
		const char *at = star + 1;

		list[star - item] = '\0';
		if (take_number(&at, NL_IRQS_MAX, &times) || *at || times == 0)
			return -1;
	}
	if (canonical(list, cpus) < 0)
		return -1;
	while (times--)
		if (add(out, cpus) < 0)
			return -1;
	return 0;
}

/* The items up to a semicolon or the end; moves *at there. 0, or -1. */
static int take_items(const char **at, struct nl_irq_list *out)
{
	for (;;) {
		size_t len = strcspn(*at, "/;");
		char item[ITEM_MAX + 1];

		if (len == 0 || len > ITEM_MAX)
			return -1;
		memcpy(item, *at, len);
		item[len] = '\0';
		*at += len;
		if (take_item(item, out) < 0)
			return -1;
		if (**at != '/')
			return 0;
		(*at)++;
	}
}

int nl_irq_list_parse(const char *text, int exact, struct nl_irq_list *out)
{
	out->count = 0;
	for (;;) {
		size_t first = out->count;
		unsigned number = 0;

		if (exact && (take_number(&text, 1000000, &number) || *text++ != ':'))
			return -1;
		if (take_items(&text, out) < 0)
			return -1;
		for (size_t i = first; exact && i < out->count; i++)
			out->number[i] = number + (unsigned)(i - first);
		if (*text == '\0')
			return 0;
		if (!exact || *text++ != ';')
			return -1;
	}
}

/* The CPU of a list of one, or -1. */
static int single(const char *cpus)
{
	return strpbrk(cpus, ",-") ? -1 : (int)strtol(cpus, NULL, 10);
}

/* Interrupts from i on, below end, that one item stands for; *ascends says how. */
static size_t run_length(const struct nl_irq_list *list, size_t i, size_t end, int *ascends)
{
	size_t same = 1, up = 1;
	int cpu = single(list->cpus[i]);

	while (i + same < end && strcmp(list->cpus[i + same], list->cpus[i]) == 0)
		same++;
	while (cpu >= 0 && i + up < end && single(list->cpus[i + up]) == cpu + (int)up)
		up++;
	*ascends = up >= RUN_MIN;
	return *ascends ? up : same;
}

int nl_irq_list_render(const struct nl_irq_list *list, int exact, char *out, size_t size)
{
	size_t len = 0, end;

	for (size_t group = 0; group < list->count; group = end) {
		size_t run;

		end = exact ? group + 1 : list->count;
		while (end < list->count && list->number[end] == list->number[end - 1] + 1)
			end++;
		if (exact)
			ADD(out, size, &len, "%s%u:", group ? ";" : "", list->number[group]);
		for (size_t i = group; i < end; i += run) {
			int ascends;

			run = run_length(list, i, end, &ascends);
			ADD(out, size, &len, "%s%s", i > group ? "/" : "", list->cpus[i]);
			if (ascends)
				ADD(out, size, &len, "..%s", list->cpus[i + run - 1]);
			else if (run > 1)
				ADD(out, size, &len, "*%zu", run);
		}
	}
	return len < size ? 0 : -1;
}
