"""PCI Express: rates of a lane, line codes, packet overhead."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab import bus
from netlab.errors import BadInput


@pytest.mark.parametrize(
    "generation, lane_MBps",
    [(1, 250), (2, 500), (3, 984.6), (4, 1969.2), (5, 3938.5), (6, 7562.5), (7, 15125.0)],
)
def test_one_lane_has_the_published_rate_of_its_generation(generation, lane_MBps):
    assert bus.pcie(generation).bandwidth_MBps == pytest.approx(lane_MBps, abs=0.05)


def test_lanes_add_up():
    assert bus.pcie(3, 16).bandwidth_Mbps == pytest.approx(16 * bus.pcie(3).bandwidth_Mbps)


def test_a_packet_costs_its_header_and_eight_bytes():
    assert bus.pcie(3, 8).packet_efficiency(256) == pytest.approx(256 / 280)
    assert bus.pcie(1, 8).packet_efficiency(128, header_B=12) == pytest.approx(128 / 148)


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
    link = bus.pcie(generation, lanes)
    assert link.most_payload_MBps(payload_B) == pytest.approx(most_MBps, rel=1e-5)
    assert link.payload_MBps(payload_B) < link.most_payload_MBps(payload_B) < link.bandwidth_MBps


def test_generation_6_pays_per_flit():
    link = bus.pcie(6, 1)
    assert link.payload_MBps(4096) == pytest.approx(8000 * 236 / 256 * 4096 / 4112)


@given(
    st.integers(1, 7),
    st.sampled_from(bus.PCIE_LANES),
    st.sampled_from([128, 256, 512, 1024, 2048, 4096]),
)
def test_payload_is_below_bandwidth_is_below_the_wire(generation, lanes, payload_B):
    link = bus.pcie(generation, lanes)
    assert 0 < link.payload_MBps(payload_B) < link.bandwidth_MBps < link.raw_Mbps / 8


def test_its_text_names_generation_lanes_and_rate():
    assert str(bus.pcie(3, 8)) == "PCIe 3.0 x8 (128b/130b), 7877 MB/s each way"


def test_generations_are_found_by_their_rate():
    assert [bus.generation_of(r) for r in (2.5, 5, 8.0, 16, 32, 64, 128)] == [1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(BadInput, match="transfer_GTps"):
        bus.generation_of(6)


@pytest.mark.parametrize(
    "generation, lanes", [(0, 1), (8, 1), (3, 3), (3, 0), (3, -1), (3.0, 8), (True, 1), (3, "8")]
)
def test_a_link_that_cannot_be_is_refused(generation, lanes):
    with pytest.raises(BadInput):
        bus.pcie(generation, lanes)


@pytest.mark.parametrize("payload_B, header_B", [(64, 16), (300, 16), (8192, 16), (256, 20)])
def test_a_packet_that_cannot_be_is_refused(payload_B, header_B):
    with pytest.raises(BadInput):
        bus.pcie(3).packet_efficiency(payload_B, header_B=header_B)


def test_per_cent_is_of_one_direction():
    assert bus.pcie(1, 4).percent(500) == 50
    with pytest.raises(BadInput):
        bus.pcie(1, 4).percent(math.nan)
