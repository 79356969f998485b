/* features: the offloads of an interface as bits, through SIOCETHTOOL.
 *
 * The kernel stores the requested bits apart from the active ones, since offloads depend on each other (no
 * segmentation without checksums). Restoring the requested bits is exact in any order. */
#pragma once

#include <stdint.h>

enum { NL_FEATURE_BLOCKS = 8 }; /* of 32 bits */

struct ethtool_gstrings;

struct nl_features {
	uint32_t blocks;
	/* available: those that can be switched, of which the others are parts */
	uint32_t available[NL_FEATURE_BLOCKS], requested[NL_FEATURE_BLOCKS], active[NL_FEATURE_BLOCKS];
	uint32_t fixed[NL_FEATURE_BLOCKS]; /* active ones that cannot be switched */
};

/* 0, or -errno: -EOPNOTSUPP without any. */
int nl_features_get(const char *interface, struct nl_features *out);

/* Request `requested` of the bits of `valid`. The call's result: ETHTOOL_F_WISH if the kernel changed only some; or
 * -errno. */
int nl_features_set(const char *interface, uint32_t blocks, const uint32_t *valid, const uint32_t *requested);

/* Bits as text, blocks of eight digits between dots, and back. Writing: the length, `size` or more if it does not
 * fit. Parsing: 0, or -1 if text has not that many blocks. */
int nl_features_write(const uint32_t *bits, uint32_t blocks, char *out, unsigned size);
int nl_features_parse(const char *text, uint32_t blocks, uint32_t *bits);
