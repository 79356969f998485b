/* counters: the counters of an interface and the times of a CPU as tables, for what treats all alike. */
#pragma once

#include "netlab.h"

#include <stddef.h>
#include <string.h>

/* A field of 64 bits of a struct. */
struct nl_counter {
	const char *name;
	size_t offset;
};

enum {
	NL_RX_PACKETS, NL_TX_PACKETS, NL_RX_BYTES, NL_TX_BYTES,
	NL_INTERFACE_RARE, /* the first of the errors and drops */
	NL_INTERFACE_COUNTERS = 8,
	NL_CPU_TIMES = 8,
};

extern const struct nl_counter nl_interface_counters[NL_INTERFACE_COUNTERS]; /* of an nl_interface */
extern const struct nl_counter nl_cpu_times[NL_CPU_TIMES]; /* of an nl_cpu, in the order of /proc/stat */

static inline uint64_t nl_counter_get(const struct nl_counter *counter, const void *of)
{
	uint64_t value;

	memcpy(&value, (const char *)of + counter->offset, sizeof(value));
	return value;
}

static inline void nl_counter_set(const struct nl_counter *counter, void *of, uint64_t value)
{
	memcpy((char *)of + counter->offset, &value, sizeof(value));
}
