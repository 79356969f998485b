"""PCI Express: rates of a lane, line codes, packet overhead."""

import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab import bus
from netlab.bus import PCI_X_133, SerialBus
from netlab.errors import BadInput


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
