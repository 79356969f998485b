#include "base/cpulist.h"

#include "base/request.h"

#include <string.h>

static int take_number(const char **at, const char *end, uint16_t *out)
{
	uint64_t n;

	if (nl_decimal_take(at, end, &n) || n > NL_CPU_NUMBER_MAX)
		return -1;
	*out = (uint16_t)n;
	return 0;
}

int nl_cpulist_parse(const char *text, uint16_t *cpu, size_t cap, size_t *count)
{
	const char *end = text + strlen(text);
	uint8_t seen[NL_CPU_NUMBER_MAX + 1];
	size_t n = 0;

	memset(seen, 0, sizeof(seen));
	for (const char *at = text;; at++) {
		uint16_t first, last;

		if (take_number(&at, end, &first))
			return -1;
		last = first;
		if (*at == '-') {
			at++;
			if (take_number(&at, end, &last) || last < first)
				return -1;
		}
		for (unsigned c = first; c <= last; c++) {
			if (n == cap || seen[c])
				return -1;
			seen[c] = 1;
			cpu[n++] = (uint16_t)c;
		}
		if (*at == '\0')
			break;
		if (*at != ',')
			return -1;
	}
	*count = n;
	return 0;
}
