#include "meter/card.h"

#include "net/interface.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(NL_CARD_NAME == ETH_GSTRING_LEN + 1, "a name has room for its terminator");

/* Parts of names in Linux's drivers: rx_missed_errors, rx_out_of_buffer, tx_pause_ctrl_phy;
 * alloc_rx_buff_failed of e1000e, pkts rx OOB of vmxnet3, tx_timeouts of virtio_net,
 * pps_allowance_exceeded of ena, tx_no_space of hv_netvsc. What a counter means is decided later,
 * by the driver: netlab/measure/counter_meanings.py. */
static const char *const loss_words[] = {
	"drop",   "discard", "miss",  "err",	"fifo", "overrun", "overflow", "crc",
	"no_buf", "nobuf",   "no_dma", "of_buffer", "pause", "xon", "xoff", "flow_control",
	"fail",   "timeout", "oob",   "fcs",	"abort", "allowance", "no_mem", "no_space", "too_big",
};

int nl_card_counts_loss(const char *name)
{
	for (size_t n = 0; n < sizeof(loss_words) / sizeof(loss_words[0]); n++)
		if (strcasestr(name, loss_words[n]))
			return 1;
	return 0;
}

/* Name of a counter, without padding; the driver's field need not be terminated. */
static void copy_card_field(char name[NL_CARD_NAME], const uint8_t *field)
{
	size_t first = 0;

	while (first < ETH_GSTRING_LEN && field[first] == ' ')
		first++;
	memcpy(name, field + first, ETH_GSTRING_LEN - first);
	memset(name + ETH_GSTRING_LEN - first, 0, NL_CARD_NAME - ETH_GSTRING_LEN + first);
}

int nl_card_scan(const char *interface, struct nl_card_scan *out)
{
	struct ethtool_gstrings *names;
	struct ethtool_stats *stats;
	size_t count;
	int result = nl_ethtool_strings(interface, ETH_SS_STATS, NL_CARD_SCAN_MAX, &names);

	memset(out, 0, sizeof(*out));
	if (result < 0)
		return result;
	count = names->len;
	stats = calloc(1, sizeof(*stats) + count * sizeof(uint64_t));
	out->value = calloc(count, sizeof(*out->value));
	result = -ENOMEM;
	if (stats && out->value) {
		*stats = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = (uint32_t)count};
		result = nl_ethtool(interface, stats);
	}
	/* the number of queues, and with it of counters, may have changed meanwhile */
	if (result >= 0 && stats->n_stats != count)
		result = -EAGAIN;
	for (size_t i = 0; result >= 0 && i < count; i++) {
		struct nl_card_value *to = &out->value[out->count];

		copy_card_field(to->name, names->data + i * ETH_GSTRING_LEN);
		if (!nl_card_counts_loss(to->name))
			continue;
		memcpy(&to->value, (char *)stats->data + i * sizeof(uint64_t), sizeof(to->value));
		out->count++;
	}
	free(names);
	free(stats);
	if (result >= 0 && out->count)
		return 0;
	nl_card_scan_free(out);
	return result < 0 ? result : -EOPNOTSUPP;
}

void nl_card_scan_free(struct nl_card_scan *scan)
{
	free(scan->value);
	memset(scan, 0, sizeof(*scan));
}

/* The row of that name, beginning with the one at the same place; NULL without. */
static const struct nl_card_value *card_find(const struct nl_card_scan *scan, const char *name,
					     size_t place)
{
	if (place < scan->count && strcmp(scan->value[place].name, name) == 0)
		return &scan->value[place];
	for (size_t i = 0; i < scan->count; i++)
		if (strcmp(scan->value[i].name, name) == 0)
			return &scan->value[i];
	return NULL;
}

static void card_insert(struct nl_card *out, const char *name, uint64_t grown)
{
	uint64_t at = 0;

	while (at < out->count && strcmp(out->counter[at].name, name) != 0)
		at++;
	if (at < out->count)
		grown += out->counter[at].grown;
	else if (at < NL_CARD_COUNTERS)
		out->count++;
	else if (out->counter[--at].grown >= grown)
		return;
	for (; at > 0 && out->counter[at - 1].grown < grown; at--)
		out->counter[at] = out->counter[at - 1];
	memcpy(out->counter[at].name, name, NL_CARD_NAME);
	out->counter[at].grown = grown;
}

void nl_card_diff(const struct nl_card_scan *before, const struct nl_card_scan *after,
		  struct nl_card *out)
{
	memset(out, 0, sizeof(*out));
	out->known = before->count && after->count;
	for (size_t i = 0; i < after->count; i++) {
		const struct nl_card_value *now = &after->value[i];
		const struct nl_card_value *then = card_find(before, now->name, i);

		if (then && now->value > then->value)
			card_insert(out, now->name, now->value - then->value);
	}
}
