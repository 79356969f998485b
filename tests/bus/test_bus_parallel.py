"""PCI, PCI-X and PCI Express: the printed figures, the sharing rules, bursts and packets."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab import bus
from netlab.bus import PCI_32_33, PCI_X_100, PCI_X_133, SerialBus, shared
from netlab.errors import BadInput


@pytest.mark.parametrize(
    "what, name, printed_MBps",
    [
        (bus.pci_x(133), "PCI-X 1.0", 1064),
        (bus.pci_x(100), "PCI-X 1.0", 800),
        (bus.pci(32, 33), "PCI", 133),
        (bus.pci(32, 66), "PCI", 266),
        (bus.pci(64, 66), "PCI", 532),
        (bus.pci_x(266), "PCI-X 2.0", 2 * 1064),
        (bus.pci_x(533), "PCI-X 2.0", 4 * 1064),
        # the slowest card sets the clock, a PCI card makes the bus PCI, a slot may halve the clock
        (shared(PCI_X_133, [PCI_X_133, PCI_X_100]), "PCI-X 1.0", 800),
        (shared(PCI_X_133, [PCI_32_33]), "PCI", 266),
        (shared(PCI_X_133, half_speed_slot=True), "PCI-X 1.0", 532),
        (shared(PCI_X_133, [PCI_32_33], half_speed_slot=True), "PCI", 266),
        (shared(PCI_X_133), "PCI-X 1.0", 1064),
    ],
)
def test_the_documents_figures_come_out_as_printed(what, name, printed_MBps):
    assert (what.name, what.bandwidth_MBps) == (name, printed_MBps)
    assert what.bandwidth_Mbps == 8 * printed_MBps


def test_per_cent_is_of_the_bandwidth_as_counted():
    assert PCI_X_133.percent(744) == pytest.approx(69.92, abs=0.01)
    assert PCI_X_133.percent(np.int64(532)) == 50
    assert SerialBus(1, 4).percent(500) == 50, "of one direction"


def test_efficiency_counts_ten_clocks_besides_the_data_and_a_partial_word_as_one():
    assert bus.pci_x_efficiency(512) == pytest.approx(64 / 74)
    assert bus.pci_x_efficiency(4096) == pytest.approx(512 / 522)
    assert bus.pci_x_efficiency(4096, latency_clocks=100) == pytest.approx(512 / 622)
    assert bus.pci_x_efficiency(9) == pytest.approx((9 / 8) / 12)


@given(st.integers(1, 4088), st.integers(0, 500))
def test_eight_more_bytes_never_lower_the_efficiency(burst_B, latency_clocks):
    small = bus.pci_x_efficiency(burst_B, latency_clocks=latency_clocks)
    large = bus.pci_x_efficiency(burst_B + 8, latency_clocks=latency_clocks)
    assert 0 < small < large < 1


# PCI Express: rates of a lane, line codes, packet overhead.


@pytest.mark.parametrize(
    "generation, rate_GTps, lane_MBps",
    [
        *((1, 2.5, 250), (2, 5, 500), (3, 8.0, 984.6), (4, 16, 1969.2)),
        *((5, 32, 3938.5), (6, 64, 7562.5), (7, 128, 15125.0)),
    ],
)
def test_one_lane_has_the_published_rate_of_its_generation(generation, rate_GTps, lane_MBps):
    assert SerialBus(generation).bandwidth_MBps == pytest.approx(lane_MBps, abs=0.05)
    assert SerialBus(generation, 16).bandwidth_MBps == pytest.approx(16 * lane_MBps, abs=1)
    assert bus.generation_of(rate_GTps) == generation


def test_a_packet_costs_its_header_and_eight_bytes_and_generation_6_pays_per_flit():
    assert SerialBus(3, 8).packet_efficiency(256) == pytest.approx(256 / 280)
    assert SerialBus(1, 8).packet_efficiency(128, header_B=12) == pytest.approx(128 / 148)
    assert SerialBus(6).payload_MBps(4096) == pytest.approx(8000 * 236 / 256 * 4096 / 4112)


@pytest.mark.parametrize(
    "generation, lanes, payload_B, most_MBps",
    [
        (1, 1, 128, 250 * 128 / 148),
        (3, 8, 256, 7876.9 * 256 / 276),
        (3, 16, 128, 15753.8 * 128 / 148),
        (4, 16, 512, 31507.7 * 512 / 532),
        (5, 16, 4096, 63015.4 * 4096 / 4116),
        (6, 16, 256, 128_000 * 236 / 256 * 256 / 268),
        (7, 16, 256, 256_000 * 236 / 256 * 256 / 268),
    ],
)
def test_most_payload_is_of_full_packets_with_the_shortest_header(
    generation, lanes, payload_B, most_MBps
):
    link = SerialBus(generation, lanes)
    assert link.most_payload_MBps(payload_B) == pytest.approx(most_MBps, rel=1e-5)
    assert link.payload_MBps(payload_B) < link.most_payload_MBps(payload_B) < link.bandwidth_MBps


@given(st.integers(1, 7), st.sampled_from(bus.PCIE_LANES), st.sampled_from(bus.PACKET_PAYLOADS_B))
def test_payload_is_below_bandwidth_is_below_the_wire(generation, lanes, payload_B):
    link = SerialBus(generation, lanes)
    assert 0 < link.payload_MBps(payload_B) < link.bandwidth_MBps < link.raw_Mbps / 8


def test_its_text_names_generation_lanes_and_rate():
    assert str(SerialBus(3, 8)) == "PCIe 3.0 x8 (128b/130b), 7877 MB/s each way"


IMPOSSIBLE = [
    *((PCI_X_133.percent, value) for value in (-1, math.nan, math.inf, True, "744")),
    (SerialBus(1, 4).percent, math.nan),
    *((bus.pci, 48, 33), (bus.pci, 32, 100), (bus.pci, 32, 0), (bus.pci, 32, -33)),
    *((bus.pci, 32, math.nan), (bus.pci, 32, "33")),
    *((bus.pci_x, 200), (bus.pci_x, math.inf), (bus.pci_x, 133, 16), (bus.pci_x, 133, 0)),
    (bus.ParallelBus, "PCI-X 1.0", 64, 10**9),
    *((bus.pci_x_efficiency, burst_B) for burst_B in (0, -1, 4097, 512.0, math.nan, None)),
    (partial(bus.pci_x_efficiency, width_bit=16), 512),
    (partial(bus.pci_x_efficiency, latency_clocks=-1), 512),
    *((partial(bus.pci_x_efficiency, header_B=header_B), 512) for header_B in (512, -1)),
    (bus.generation_of, 6),
    *((SerialBus, generation, 1) for generation in (0, 8, 3.0, True)),
    *((SerialBus, 3, lanes) for lanes in (3, 0, -1, "8")),
    *((SerialBus(3).packet_efficiency, payload_B) for payload_B in (64, 300, 8192)),
    (partial(SerialBus(3).packet_efficiency, header_B=20), 256),
]


@pytest.mark.parametrize("call", IMPOSSIBLE)
def test_what_cannot_be_is_refused(call):
    function, *arguments = call
    with pytest.raises(BadInput):
        function(*arguments)
