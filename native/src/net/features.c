#include "net/features.h"

#include "net/interface.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nl_features_get(const char *interface, struct nl_features *out)
{
	union {
		struct ethtool_gfeatures head;
		char room[sizeof(struct ethtool_gfeatures) +
			  NL_FEATURE_BLOCKS * sizeof(struct ethtool_get_features_block)];
	} u;
	int result;

	memset(&u, 0, sizeof(u));
	memset(out, 0, sizeof(*out));
	u.head = (struct ethtool_gfeatures){.cmd = ETHTOOL_GFEATURES, .size = NL_FEATURE_BLOCKS};
	result = nl_ethtool(interface, &u);
	if (result < 0)
		return result;
	/* the kernel writes its number of blocks, which it fills up to that of the request */
	out->blocks = u.head.size < NL_FEATURE_BLOCKS ? u.head.size : NL_FEATURE_BLOCKS;
	for (uint32_t i = 0; i < out->blocks; i++) {
		struct ethtool_get_features_block block;

		memcpy(&block, u.room + sizeof(u.head) + i * sizeof(block), sizeof(block));
		out->available[i] = block.available & ~block.never_changed;
		out->requested[i] = block.requested & out->available[i];
		out->active[i] = block.active & out->available[i];
		out->fixed[i] = block.active & ~out->available[i];
	}
	return out->blocks ? 0 : -EOPNOTSUPP;
}

int nl_features_set(const char *interface, uint32_t blocks, const uint32_t *valid, const uint32_t *requested)
{
	union {
		struct ethtool_sfeatures head;
		char room[sizeof(struct ethtool_sfeatures) +
			  NL_FEATURE_BLOCKS * sizeof(struct ethtool_set_features_block)];
	} u;

	memset(&u, 0, sizeof(u));
	u.head = (struct ethtool_sfeatures){.cmd = ETHTOOL_SFEATURES, .size = blocks};
	for (uint32_t i = 0; i < blocks; i++) {
		struct ethtool_set_features_block block = {.valid = valid[i], .requested = requested[i] & valid[i]};

		memcpy(u.room + sizeof(u.head) + i * sizeof(block), &block, sizeof(block));
	}
	return nl_ethtool(interface, &u);
}

int nl_features_write(const uint32_t *bits, uint32_t blocks, char *out, unsigned size)
{
	int len = 0;

	for (uint32_t i = 0; i < blocks && (unsigned)len < size; i++)
		len += snprintf(out + len, size - (unsigned)len, "%s%08" PRIx32, i ? "." : "", bits[i]);
	return len;
}

int nl_features_parse(const char *text, uint32_t blocks, uint32_t *bits)
{
	for (uint32_t i = 0; i < blocks; i++) {
		char *end;

		bits[i] = (uint32_t)strtoul(text, &end, 16);
		if (end == text)
			return -1;
		text = *end == '.' ? end + 1 : end;
	}
	return 0;
}
