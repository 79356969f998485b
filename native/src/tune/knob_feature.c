/* knob_feature: offloads through SIOCETHTOOL. */
#include "net/features.h"
#include "net/interface.h"
#include "tune/knob.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <stdlib.h>
#include <string.h>

/* An offload is a group of feature bits. The requested bits are saved and restored, so that bits of the group that
 * were off before (tx-tcp-mangleid-segmentation, on most cards) stay off. */
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

struct group {
	struct nl_features of;             /* of the interface */
	uint32_t bits[NL_FEATURE_BLOCKS];  /* those of the group */
	uint32_t valid[NL_FEATURE_BLOCKS]; /* those of them that can be switched */
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

static int any_common(const uint32_t *a, const uint32_t *b)
{
	uint32_t any = 0;

	for (int i = 0; i < NL_FEATURE_BLOCKS; i++)
		any |= a[i] & b[i];
	return any != 0;
}

static enum nl_knob_code group_get(const struct nl_knob *k, struct group *g, struct nl_err *why)
{
	struct ethtool_gstrings *names;
	int result = nl_ethtool_strings(k->interface, ETH_SS_FEATURES, NL_FEATURE_BLOCKS * 32, &names);

	memset(g, 0, sizeof(*g));
	for (uint32_t i = 0; result >= 0 && i < names->len; i++)
		if (in_group(k, (const char *)names->data + (size_t)i * ETH_GSTRING_LEN))
			g->bits[i / 32] |= UINT32_C(1) << (i % 32);
	if (result >= 0) {
		free(names);
		result = nl_features_get(k->interface, &g->of);
	}
	for (uint32_t i = 0; i < g->of.blocks; i++)
		g->valid[i] = g->of.available[i] & g->bits[i];
	if (result >= 0 && any_common(g->bits, g->bits))
		return NL_KNOB_OK;
	return nl_knob_ethtool_failed(k, "ETHTOOL_GFEATURES", no_feature, result < 0 ? -result : EOPNOTSUPP,
				      why);
}

static enum nl_knob_code feature_read(const struct nl_knob *k, struct nl_value *out, struct nl_err *why)
{
	uint32_t requested[NL_FEATURE_BLOCKS] = {0};
	struct group g;
	enum nl_knob_code code = group_get(k, &g, why);
	int is_on;

	if (code != NL_KNOB_OK)
		return code;
	is_on = any_common(g.of.active, g.bits) || any_common(g.of.fixed, g.bits);
	nl_knob_put_text(out, nl_knob_switch[!is_on]);
	for (uint32_t i = 0; i < g.of.blocks; i++)
		requested[i] = g.of.requested[i] & g.bits[i];
	nl_features_write(requested, g.of.blocks, out->exact, sizeof(out->exact));
	if (!any_common(g.valid, g.valid))
		return nl_knob_fail(why, NL_KNOB_OK, "fixed: the device cannot switch this offload");
	out->access = nl_knob_privilege(why);
	return NL_KNOB_OK;
}

static enum nl_knob_code group_set(const struct nl_knob *k, const struct group *g, const uint32_t *requested,
				   struct nl_err *why)
{
	int result = nl_features_set(k->interface, g->of.blocks, g->valid, requested);

	if (result < 0)
		return nl_knob_ethtool_failed(k, "ETHTOOL_SFEATURES", no_feature, -result, why);
	if (result & ETHTOOL_F_WISH)
		nl_fail(why, NL_REFUSED, "the kernel changed only some bits: offloads depend on each other");
	return NL_KNOB_OK;
}

static enum nl_knob_code feature_write(const struct nl_knob *k, const char *text, struct nl_err *why)
{
	static const uint32_t none[NL_FEATURE_BLOCKS];
	struct group g;
	enum nl_knob_code code = group_get(k, &g, why);

	return code != NL_KNOB_OK ? code : group_set(k, &g, strcmp(text, "on") == 0 ? g.valid : none, why);
}

static enum nl_knob_code feature_restore(const struct nl_knob *k, const char *exact,
					 struct nl_err *why)
{
	uint32_t requested[NL_FEATURE_BLOCKS] = {0};
	struct group g;
	enum nl_knob_code code = group_get(k, &g, why);

	if (code != NL_KNOB_OK)
		return code;
	if (nl_features_parse(exact, g.of.blocks, requested) < 0)
		return nl_knob_fail(why, NL_KNOB_REFUSED, "the saved offload bits do not match this kernel");
	return group_set(k, &g, requested, why);
}

const struct nl_knob_ops nl_knob_ops_feature = {
	.kind = "feature", .names = feature_names, .has_interface = 1, .words = nl_knob_switch,
	.read = feature_read, .write = feature_write, .restore = feature_restore,
};
