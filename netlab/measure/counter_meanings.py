"""Meanings of the counters of a card (`ethtool -S`), by its driver.

A name alone misleads: `tx_deferred_ok` of igb contains `err` and counts no loss, and ENA's
`pps_allowance_exceeded` contains no such word. Names are those of Linux 6.12; the sources are
files of its tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

LOST_IN = "lost: no free receive buffer, the host is too slow"
LOST_BUFFER = "lost: the card's own buffer was full"
LOST_OUT = "lost before it was sent"
LOST_MEMORY = "lost or delayed: no memory for a buffer"
BAD_FRAME = "lost: damaged frame; look at cable, transceiver and ports"
REFUSED = "lost: longer than the card takes, or with a wrong checksum"
PAUSE = "pause frame: a receiver asks its sender to stop"
STALLED = "the card did not finish a packet in time, and was reset"
LIMITED = "queued or lost: beyond the limit of this kind of virtual machine"

INTEL = (
    (r"rx_missed_errors|rx_no_dma_resources|rx_fifo_errors|rx_over_errors", LOST_BUFFER),
    (r"rx_no_buffer_count|(port\.)?rx_dropped|(port\.)?rx_discards", LOST_IN),
    (r"rx_queue_\d+_drops", LOST_IN),
    (r"(port\.)?rx_(crc|frame|align|length|short_length|long_length)_errors", BAD_FRAME),
    (r"(port\.)?(illegal_bytes|mac_(local|remote)_faults)(\.nic)?", BAD_FRAME),
    (r"(port\.)?tx_dropped(_link_down)?(\.nic)?|tx_errors", LOST_OUT),
    (
        r"rx_(pg_)?alloc_fail(ed)?|alloc_rx_(buff|page)_failed|rx_queue_\d+_alloc_failed",
        LOST_MEMORY,
    ),
    (r"tx_timeout(_count)?(\.nic)?|port\.tx_timeout", STALLED),
    (r"[rt]x_flow_control_xo(n|ff)|(port\.)?link_xo(n|ff)_[rt]x(\.nic)?", PAUSE),
)
"""Of igb, ixgbe, i40e and e1000e: `drivers/net/ethernet/intel/*/*_ethtool.c`."""

COUNTERS: dict[str, tuple[tuple[str, str], ...]] = {
    # drivers/net/ethernet/amazon/ena/ena_ethtool.c and ena_admin_defs.h
    "ena": (
        (r"(bw_in|bw_out|pps|conntrack|linklocal)_allowance_exceeded", LIMITED),
        (r"rx_drops", LOST_IN),
        (r"tx_drops", LOST_OUT),
        (r"queue_\d+_rx_(bad_csum|bad_desc_num|bad_req_id)", BAD_FRAME),
        (r"queue_\d+_rx_(page_alloc_fail|skb_alloc_fail|dma_mapping_err)", LOST_MEMORY),
        (r"tx_timeout", STALLED),
    ),
    # Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst
    "mlx5_core": (
        (r"rx_out_of_buffer|dev_out_of_buffer", LOST_IN),
        (r"rx_discards_phy|rx_prio\d+_discards|rx_prio\d+_buf_discard", LOST_BUFFER),
        (r"outbound_pci_buffer_overflow", LOST_BUFFER),
        (r"tx_discards_phy|tx_errors_phy", LOST_OUT),
        (r"rx_(crc|symbol_err|in_range_len_errors|oversize_pkts|undersize_pkts)\w*_phy", BAD_FRAME),
        (r"rx_(wqe_err|buff_alloc_err|oversize_pkts_buffer|oversize_pkts_sw_drop)", LOST_MEMORY),
        (r"[rt]x_(global_pause|pause_ctrl_phy|prio\d+_pause)", PAUSE),
    ),
    # drivers/net/ethernet/intel/ice/ice_ethtool.c
    "ice": (
        (r"rx_dropped|rx_dropped\.nic|rx_discards(\.nic)?", LOST_IN),
        (r"tx_dropped_link_down\.nic|tx_errors(\.nic)?|tx_dropped", LOST_OUT),
        (r"rx_(crc|length|len|undersize|oversize|fragments|jabber)\w*\.nic", BAD_FRAME),
        (r"(illegal_bytes|mac_local_faults|mac_remote_faults)\.nic", BAD_FRAME),
        (r"rx_(pg_)?alloc_fail", LOST_MEMORY),
        (r"tx_timeout\.nic", STALLED),
        (r"link_xo(n|ff)_[rt]x\.nic|(priority_\d+_)xo(n|ff)_[rt]x\.nic", PAUSE),
    ),
    **dict.fromkeys(("i40e", "ixgbe", "igb", "e1000e"), INTEL),
    # drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c
    "bnxt_en": (
        (r"rx_total_(ring_discards|discard_pkts)", LOST_BUFFER),
        (r"rx_total_(oom|netpoll)_discards|rx_total_buf_errors", LOST_MEMORY),
        (r"tx_total_(ring_discards|discard_pkts)", LOST_OUT),
        (r"rx_(fcs|align|ovrsz|jbr|mtu)_err_frames|rx_stat_err|rx_total_l4_csum_errors", BAD_FRAME),
        (r"rx_stat_discard|rx_discard_(bytes|packets)_cos\d+", LOST_BUFFER),
        (r"[rt]x_(pause|pfc)_frames", PAUSE),
    ),
    # drivers/net/virtio_net.c
    "virtio_net": (
        (r"rx_queue_\d+_drops|rx\d+_drops|rx_drops", LOST_IN),
        (r"tx_queue_\d+_tx_timeouts|tx\d+_tx_timeouts|tx_timeouts", STALLED),
    ),
    # drivers/net/ethernet/google/gve/gve_ethtool.c
    "gve": (
        (r"rx_dropped", LOST_IN),
        (r"rx_queue_drop_cnt\[\d+\]|rx_no_buffers_posted\[\d+\]", LOST_IN),
        (r"rx_drops_(packet_over_mru|invalid_checksum)\[\d+\]", REFUSED),
        (r"tx_dropped", LOST_OUT),
        (r"page_alloc_fail|dma_mapping_error", LOST_MEMORY),
        (r"tx_timeouts", STALLED),
    ),
    # drivers/net/hyperv/netvsc_drv.c
    "hv_netvsc": (
        (r"tx_no_memory|tx_no_space|tx_too_big|vf_tx_dropped", LOST_OUT),
        (r"rx_no_memory", LOST_MEMORY),
    ),
    # drivers/net/veth.c
    "veth": (
        (r"rx_queue_\d+_drops", LOST_IN),
        (r"tx_queue_\d+_xdp_xmit_errors|rx_queue_\d+_xdp_(drops|tx_errors)", LOST_OUT),
    ),
}
"""Counters that matter to a throughput figure, by driver; its other counters count no loss."""

OF_OTHERS = re.compile(
    r"drop|discard|miss|err(?!ed)|fifo|overrun|overflow|crc|no_?buf|no_dma|of_buffer|pause|xon|xoff"
    r"|flow_control|fail|timeout|oob|fcs|abort|allowance|no_mem|no_space|too_big",
    re.IGNORECASE,
)
"""Names of drivers without a table: by their words, as the core takes them."""
BY_NAME = "by its name a loss or a pause; this driver has no table"


def meaning(driver: str | None, counter: str) -> str | None:
    """Meaning of a growing counter; None if it counts no loss, pause or limit."""
    rows = COUNTERS.get(driver or "")
    if rows is None:
        return BY_NAME if OF_OTHERS.search(counter) else None
    return next((text for name, text in rows if re.fullmatch(name, counter)), None)


def losses(driver: str | None, values: Mapping[str, int]) -> dict[str, int]:
    """Counters of lost or limited packets above 0; those of queues summed, `rx_queue_*_drops`."""
    lost: Counter[str] = Counter()
    for name, value in values.items():
        cause = meaning(driver, name)
        # without a table, a counter of a queue may be in a sum, and sending loses little
        unclear = cause == BY_NAME and re.search(r"\d|^tx|pause|xo", name)
        if value and cause and cause != PAUSE and not unclear:
            lost[re.sub(r"(queue_|_prio|_cos|\[|^[rt]x)\d+", r"\1*", name)] += value
    return dict(lost)
