/* prng: seeded random numbers (xoshiro256**, Blackman and Vigna 2018, seeded by splitmix64). The
 * same seed gives the same sequence on every machine. */
#pragma once

#include <stdint.h>

enum { NL_PPB = 1000000000 }; /* parts per billion in one */

struct nl_prng {
	uint64_t state[4];
};

static inline void nl_prng_seed(struct nl_prng *d, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		d->state[i] = z ^ (z >> 31);
	}
}

static inline uint64_t nl_prng_u64(struct nl_prng *d)
{
	uint64_t *s = d->state, x = s[1] * 5, result = ((x << 7) | (x >> 57)) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = (s[3] << 45) | (s[3] >> 19);
	return result;
}

/* Uniform in [0, bound), bound at most 2^32. */
static inline uint64_t nl_prng_below(struct nl_prng *d, uint64_t bound)
{
	return ((nl_prng_u64(d) >> 32) * bound) >> 32;
}

/* True with that probability. */
static inline int nl_prng_happens(struct nl_prng *d, uint64_t ppb)
{
	return ppb && nl_prng_below(d, NL_PPB) < ppb;
}
