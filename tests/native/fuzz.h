/* fuzz: the entry of a fuzz target, and a condition that any input must meet. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static inline void want(int condition)
{
	if (!condition)
		abort();
}
