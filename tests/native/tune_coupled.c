/* `gensink tune` on a card whose driver forgets the large receive offloads when segmentation is switched off. */
#include "commands.h"

#include "net/features.h"
#include "net/interface.h"

#include <linux/ethtool.h>
#include <stdlib.h>
#include <string.h>

int __real_nl_ethtool(const char *interface, void *data);
int __wrap_nl_ethtool(const char *interface, void *data);

static void switch_off(const char *interface, const char *bit)
{
	uint32_t valid[NL_FEATURE_BLOCKS] = {0};
	const uint32_t none[NL_FEATURE_BLOCKS] = {0};
	struct ethtool_gstrings *names;

	if (nl_ethtool_strings(interface, ETH_SS_FEATURES, NL_FEATURE_BLOCKS * 32, &names) < 0)
		return;
	for (uint32_t i = 0; i < names->len; i++)
		if (strcmp((const char *)names->data + (size_t)i * ETH_GSTRING_LEN, bit) == 0)
			valid[i / 32] = UINT32_C(1) << (i % 32);
	nl_features_set(interface, (names->len + 31) / 32, valid, none);
	free(names);
}

/* True if the request switches nothing on. */
static int only_off(const void *data)
{
	struct ethtool_sfeatures head;

	memcpy(&head, data, sizeof(head));
	for (uint32_t i = 0; i < head.size; i++) {
		struct ethtool_set_features_block block;

		memcpy(&block, (const char *)data + sizeof(head) + i * sizeof(block), sizeof(block));
		if (block.requested)
			return 0;
	}
	return 1;
}

int __wrap_nl_ethtool(const char *interface, void *data)
{
	static int is_nested;
	int result = __real_nl_ethtool(interface, data);
	uint32_t cmd;

	memcpy(&cmd, data, sizeof(cmd));
	if (result < 0 || cmd != ETHTOOL_SFEATURES || is_nested || !only_off(data))
		return result;
	is_nested = 1;
	switch_off(interface, "rx-gro-list");
	switch_off(interface, "rx-udp-gro-forwarding");
	is_nested = 0;
	return result;
}

int main(int argc, char **argv)
{
	return nl_tune_main(argc, argv);
}
