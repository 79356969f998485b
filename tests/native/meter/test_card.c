/* Growth of a driver's counters between two scans, from tables as drivers fill them. */
#include "meter/card.h"

#include "check.h"

#include <stdio.h>
#include <string.h>

static struct nl_card card;

static void diff(struct nl_card_value *then, size_t before, struct nl_card_value *now, size_t after)
{
	struct nl_card_scan a = {.count = before, .value = then}, b = {.count = after, .value = now};

	nl_card_diff(&a, &b, &card);
}

#define DIFF(then, now) diff(then, sizeof(then) / sizeof(then[0]), now, sizeof(now) / sizeof(now[0]))

TEST(names_of_drops_errors_and_pauses_are_recognised)
{
	static const char *const lost[] = {
		"rx_missed_errors", "rx_out_of_buffer", "rx_no_buffer_count", "tx_pause_ctrl_phy",
		"rx_flow_control_xoff", "drv dropped rx total", "rx0_drops", "rx_discards_phy",
		"RX_CRC_Errors", "link_xon_rx.nic", "rx_fifo_errors",
		/* e1000 and e1000e */
		"alloc_rx_buff_failed", "tx_timeout_count", "tx_abort_late_coll", "rx_dma_failed",
		/* vmxnet3 */
		"pkts rx OOB", "rx buf alloc fail", "fcs", "pkts tx discard", "tx timeout count",
		/* virtio_net */
		"rx_queue_0_drops", "tx_queue_0_xdp_tx_drops", "tx_queue_0_tx_timeouts",
		/* ena, hv_netvsc */
		"bw_in_allowance_exceeded", "tx_no_memory", "tx_no_space", "tx_too_big",
	};
	static const char *const carried[] = {
		"rx_packets", "tx_bytes", "rx_queue_0_kicks", "peer_ifindex", "",
		"tx_tcp_seg_good", "rx_csum_offload_good", "tx_restart_queue", "LRO pkts rx", "ring full",
	};

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		CHECK(nl_card_counts_loss(lost[i]));
	for (size_t i = 0; i < sizeof(carried) / sizeof(carried[0]); i++)
		CHECK(!nl_card_counts_loss(carried[i]));
}

TEST(only_counters_that_grew_are_reported)
{
	struct nl_card_value then[] = {{"rx_missed_errors", 5}, {"tx_pause", 7}, {"rx_crc_errors", 9}};
	struct nl_card_value now[] = {
		{"rx_missed_errors", 17}, {"tx_pause", 7}, {"rx_crc_errors", 2} /* a driver that began anew */};

	DIFF(then, now);
	CHECK(card.known && card.count == 1);
	CHECK(strcmp(card.counter[0].name, "rx_missed_errors") == 0);
	CHECK(card.counter[0].grown == 12);
}

TEST(counters_are_matched_by_name)
{
	struct nl_card_value then[] = {{"rx0_drops", 1}, {"tx_pause", 100}};
	struct nl_card_value now[] = {{"rx0_drops", 1}, {"rx1_drops", 50} /* of a new queue */, {"tx_pause", 103}};

	DIFF(then, now);
	CHECK(card.count == 1 && card.counter[0].grown == 3);
}

TEST(the_largest_growth_comes_first_and_the_rest_is_cut)
{
	struct nl_card_value then[40], now[40];

	memset(then, 0, sizeof(then));
	for (uint64_t i = 0; i < 40; i++) {
		snprintf(then[i].name, sizeof(then[i].name), "rx%u_drops", (unsigned)i);
		now[i] = then[i];
		now[i].value = i % 2 ? 100 + i : 40 - i;
	}
	DIFF(then, now);
	CHECK(card.count == NL_CARD_COUNTERS);
	CHECK(card.counter[0].grown == 139);
	for (uint64_t i = 1; i < card.count; i++)
		CHECK(card.counter[i].grown <= card.counter[i - 1].grown);
	/* of 20 odd ones from 101 and 20 even ones from 2 the least 8 are missing */
	CHECK(card.counter[NL_CARD_COUNTERS - 1].grown == 18);
}

TEST(counters_of_one_name_are_added_up)
{
	/* one for each of two queues */
	struct nl_card_value then[] = {{"pkts rx OOB", 10}, {"pkts rx err", 20}, {"pkts rx OOB", 30}};
	struct nl_card_value now[] = {{"pkts rx OOB", 14}, {"pkts rx err", 25}, {"pkts rx OOB", 33}};

	DIFF(then, now);
	CHECK(card.count == 2);
	CHECK(strcmp(card.counter[0].name, "pkts rx OOB") == 0 && card.counter[0].grown == 7);
	CHECK(strcmp(card.counter[1].name, "pkts rx err") == 0 && card.counter[1].grown == 5);
}

TEST(a_driver_without_counters_is_unknown)
{
	struct nl_card_scan scan;

	diff(NULL, 0, NULL, 0);
	CHECK(!card.known && card.count == 0);
	CHECK(nl_card_scan("lo", &scan) < 0 && scan.count == 0);
	CHECK(nl_card_scan("no-such-device", &scan) < 0 && scan.count == 0);
}
