"""Counters of cards mean what their driver counts, not what their names sound like."""

import pytest

from netlab.measure.counter_meanings import (
    BAD_FRAME,
    BY_NAME,
    COUNTERS,
    LIMITED,
    LOST_BUFFER,
    LOST_IN,
    LOST_MEMORY,
    LOST_OUT,
    PAUSE,
    STALLED,
    losses,
    meaning,
)

MEANINGS = [
    ("ena", "conntrack_allowance_exceeded", LIMITED),
    ("ena", "rx_drops", LOST_IN),
    ("ena", "queue_3_tx_missed_tx", None),
    ("mlx5_core", "rx_out_of_buffer", LOST_IN),
    ("mlx5_core", "rx_discards_phy", LOST_BUFFER),
    ("mlx5_core", "rx_crc_errors_phy", BAD_FRAME),
    ("mlx5_core", "tx_pause_ctrl_phy", PAUSE),
    ("mlx5_core", "rx_steer_missed_packets", None),
    ("ice", "link_xoff_rx.nic", PAUSE),
    ("ice", "rx_crc_errors.nic", BAD_FRAME),
    ("ice", "tx_hwtstamp_timeouts", None),
    ("i40e", "port.rx_discards", LOST_IN),
    ("i40e", "port.fdir_sb_match", None),
    ("ixgbe", "rx_missed_errors", LOST_BUFFER),
    ("ixgbe", "fdir_miss", None),
    ("igb", "rx_no_buffer_count", LOST_IN),
    ("igb", "tx_deferred_ok", None),
    ("e1000e", "alloc_rx_buff_failed", LOST_MEMORY),
    ("bnxt_en", "rx_total_ring_discards", LOST_BUFFER),
    ("bnxt_en", "total_missed_irqs", None),
    ("virtio_net", "rx_queue_0_drops", LOST_IN),
    ("virtio_net", "tx_queue_1_tx_timeouts", STALLED),
    ("virtio_net", "rx_queue_0_xdp_drops", None),
    ("gve", "rx_queue_drop_cnt[5]", LOST_IN),
    ("gve", "adminq_cmd_fail", None),
    ("hv_netvsc", "tx_no_space", LOST_OUT),
    ("hv_netvsc", "tx_busy", None),
    ("veth", "rx_queue_0_drops", LOST_IN),
    ("veth", "peer_ifindex", None),
    ("sfc", "rx_nodesc_drops", BY_NAME),
    ("sfc", "tx_deferred", None),
    (None, "pkts rx OOB", BY_NAME),
]


@pytest.mark.parametrize(("driver", "counter", "expected"), MEANINGS)
def test_a_counter_means_what_its_driver_counts(driver, counter, expected):
    assert meaning(driver, counter) == expected


def test_every_driver_of_the_table_has_a_case():
    assert {driver for driver, _, said in MEANINGS if said not in (None, BY_NAME)} == set(COUNTERS)


def test_losses_are_summed_over_queues_without_pauses():
    values = {"rx_drops_packet_over_mru[0]": 1, "rx_drops_packet_over_mru[1]": 2, "rx_dropped": 0}
    assert losses("gve", values) == {"rx_drops_packet_over_mru[*]": 3}
    assert losses("mlx5_core", {"rx_global_pause": 9, "rx_prio0_discards": 2}) == {
        "rx_prio*_discards": 2
    }


def test_without_a_table_a_queues_counter_may_lie_in_a_sum():
    assert losses("sfc", {"rx-3.rx_drops": 4, "rx_nodesc_drops": 4, "tx_errors": 1}) == {
        "rx_nodesc_drops": 4
    }
