/* knob_feature: offloads through SIOCETHTOOL. */
#include "net/interface.h"
#include "tune/knob.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An offload is a group of feature bits. The kernel stores the requested bits apart from the active
 * ones, since offloads depend on each other (no segmentation without checksums). The requested bits
 * are saved and restored, so that a revert is exact in any order, and bits of the group that were
 * off before (tx-tcp-mangleid-segmentation, on most cards) stay off. */
enum { BLOCKS_MAX = 8 };

static const char *const feature_names[] = {"rx-checksum", "tx-checksum", "tso", "gso", "gro",
					    "scatter-gather", NULL};

static const char *const groups[][6] = {
	{"rx-checksum"},
	{"tx-checksum-ipv4", "tx-checksum-ip-generic", "tx-checksum-ipv6", "tx-checksum-fcoe-crc",
	 "tx-checksum-sctp"},
	{"tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
	 "tx-tcp6-segmentation", "tx-tcp-accecn-segmentation"},
	{"tx-generic-segmentation"},
	{"rx-gro"},
	{"tx-scatter-gather"},
};

struct features {
	uint32_t blocks;
	uint32_t group[BLOCKS_MAX], available[BLOCKS_MAX], requested[BLOCKS_MAX],
		active[BLOCKS_MAX];
};

/* bit: a name of at most ETH_GSTRING_LEN bytes. */
static int in_group(const struct nl_knob *k, const char *bit)
{
	const char *const *bits = groups[nl_knob_name_index(k)];

	while (*bits && strncmp(*bits, bit, ETH_GSTRING_LEN) != 0)
		bits++;
	return *bits != NULL;
}

static const char no_feature[] = "the kernel does not know this offload";

static enum nl_knob_code features_get(const struct nl_knob *k, struct features *f, struct nl_err *why)
{
	union {
		struct ethtool_gfeatures head;
		char room[sizeof(struct ethtool_gfeatures) +
			  BLOCKS_MAX * sizeof(struct ethtool_get_features_block)];
	} u = {.head = {.cmd = ETHTOOL_GFEATURES, .size = BLOCKS_MAX}};
	struct ethtool_gstrings *names;
	uint32_t any = 0;
	int result = nl_ethtool_strings(k->interface, ETH_SS_FEATURES, BLOCKS_MAX * 32, &names);

	memset(f, 0, sizeof(*f));
	for (uint32_t i = 0; result >= 0 && i < names->len; i++)
		if (in_group(k, (const char *)names->data + (size_t)i * ETH_GSTRING_LEN))
			f->group[i / 32] |= UINT32_C(1) << (i % 32);
	if (result >= 0) {
		f->blocks = (names->len + 31) / 32;
		free(names);
		result = nl_ethtool(k->interface, &u);
	}
	for (uint32_t i = 0; result >= 0 && i < f->blocks; i++) {
		struct ethtool_get_features_block block;

		memcpy(&block, u.room + sizeof(u.head) + i * sizeof(block), sizeof(block));
		f->available[i] = block.available & f->group[i] & ~block.never_changed;
		f->requested[i] = block.requested & f->available[i];
		f->active[i] = block.active & f->group[i];
		any |= f->group[i];
	}
	if (result >= 0 && any)
		return NL_KNOB_OK;
	return nl_knob_ethtool_failed(k, "ETHTOOL_GFEATURES", no_feature, result < 0 ? -result : EOPNOTSUPP,
				      why);
}

static int any_bit(const uint32_t *blocks)
{
	uint32_t any = 0;

	for (int i = 0; i < BLOCKS_MAX; i++)
		any |= blocks[i];
	return any != 0;
}

static enum nl_knob_code feature_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why)
{
	struct features f;
	char *to = out->exact;
	enum nl_knob_code code = features_get(k, &f, why);

	if (code != NL_KNOB_OK)
		return code;
	nl_knob_put_text(out, nl_knob_switch[!any_bit(f.active)]);
	for (uint32_t i = 0; i < f.blocks; i++)
		to += snprintf(to, 10, "%s%08" PRIx32, i ? "." : "", f.requested[i]);
	if (!any_bit(f.available))
		return nl_knob_fail(why, NL_KNOB_OK, "fixed: the device cannot switch this offload");
	out->access = nl_knob_privilege(why);
	return NL_KNOB_OK;
}

static enum nl_knob_code features_set(const struct nl_knob *k, const struct features *f,
				      const uint32_t *requested, struct nl_err *why)
{
	union {
		struct ethtool_sfeatures head;
		char room[sizeof(struct ethtool_sfeatures) +
			  BLOCKS_MAX * sizeof(struct ethtool_set_features_block)];
	} u = {.head = {.cmd = ETHTOOL_SFEATURES, .size = f->blocks}};
	int result;

	for (uint32_t i = 0; i < f->blocks; i++) {
		struct ethtool_set_features_block block = {
			.valid = f->available[i],
			.requested = requested[i] & f->available[i],
		};

		memcpy(u.room + sizeof(u.head) + i * sizeof(block), &block, sizeof(block));
	}
	result = nl_ethtool(k->interface, &u);
	if (result < 0)
		return nl_knob_ethtool_failed(k, "ETHTOOL_SFEATURES", no_feature, -result, why);
	if (result & ETHTOOL_F_WISH)
		nl_fail(why, NL_REFUSED, "the kernel changed only some bits: offloads depend on each other");
	return NL_KNOB_OK;
}

static enum nl_knob_code feature_write(const struct nl_knob *k, const char *text, struct nl_err *why)
{
	static const uint32_t none[BLOCKS_MAX];
	struct features f;
	enum nl_knob_code code = features_get(k, &f, why);

	if (code != NL_KNOB_OK)
		return code;
	return features_set(k, &f, strcmp(text, "on") == 0 ? f.available : none, why);
}

static enum nl_knob_code feature_restore(const struct nl_knob *k, const char *exact,
					 struct nl_err *why)
{
	uint32_t requested[BLOCKS_MAX] = {0};
	struct features f;
	enum nl_knob_code code = features_get(k, &f, why);

	if (code != NL_KNOB_OK)
		return code;
	for (uint32_t i = 0; i < f.blocks; i++) {
		char *end;

		requested[i] = (uint32_t)strtoul(exact, &end, 16);
		if (end == exact)
			return nl_knob_fail(why, NL_KNOB_REFUSED,
					    "the saved offload bits do not match this kernel");
		exact = *end == '.' ? end + 1 : end;
	}
	return features_set(k, &f, requested, why);
}

const struct nl_knob_ops nl_knob_ops_feature = {
	.kind = "feature", .names = feature_names, .has_interface = 1, .words = nl_knob_switch,
	.read = feature_read, .write = feature_write, .restore = feature_restore,
};
