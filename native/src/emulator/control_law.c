#include "emulator/control_law.h"

static uint64_t square_root(uint64_t n)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= n)
			root |= bit;
	return root;
}

uint64_t nl_control_law_ns(uint64_t interval_ns, uint32_t count)
{
	/* 16 binary places of the root; an interval of an hour times 2^16 fits */
	return count ? (interval_ns << 16) / square_root((uint64_t)count << 32) : interval_ns;
}
