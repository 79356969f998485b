"""PCI and PCI-X: the printed figures, the sharing rules, the burst model."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab import bus
from netlab.errors import BadInput


@pytest.mark.parametrize(
    "what, printed_Mbps, printed_MBps",
    [
        (bus.pci_x(133), 8512, 1064),
        (bus.pci_x(100), 6400, 800),
        (bus.pci(32, 33), 1064, 133),
        (bus.pci(32, 66), 2128, 266),
        (bus.pci(64, 66), 4256, 532),
    ],
)
def test_the_documents_figures_come_out_as_printed(what, printed_Mbps, printed_MBps):
    assert what.bandwidth_Mbps == printed_Mbps
    assert what.bandwidth_MBps == printed_MBps


def test_pci_x_2_transfers_two_and_four_times_a_clock():
    assert bus.pci_x(266).bandwidth_MBps == 2 * 1064
    assert bus.pci_x(533).bandwidth_MBps == 4 * 1064
    assert bus.pci_x(266).name == "PCI-X 2.0"
    assert bus.pci_x(133).name == "PCI-X 1.0"


def test_the_slowest_card_sets_the_clock():
    slowed = bus.shared(bus.PCI_X_133, [bus.PCI_X_133, bus.PCI_X_100])
    assert slowed.bandwidth_MBps == 800


def test_a_pci_card_makes_the_bus_pci():
    slowed = bus.shared(bus.PCI_X_133, [bus.PCI_32_33])
    assert (slowed.name, slowed.width_bit, slowed.bandwidth_MBps) == ("PCI", 64, 266)


def test_a_half_speed_slot_halves_the_clock():
    assert bus.shared(bus.PCI_X_133, half_speed_slot=True).bandwidth_MBps == 532


def test_a_half_speed_slot_does_not_halve_a_card_that_is_slower_anyway():
    card = bus.PCI_32_33
    assert bus.shared(bus.PCI_X_133, [card], half_speed_slot=True).clock_MHz == 33


def test_an_empty_bus_runs_at_its_own_speed():
    assert bus.shared(bus.PCI_X_133) == bus.PCI_X_133


def test_per_cent_is_of_the_bandwidth_as_counted():
    assert bus.PCI_X_133.percent(744) == pytest.approx(69.92, abs=0.01)
    assert bus.PCI_X_133.percent(np.int64(532)) == 50
    assert bus.SerialBus(1, 4).percent(500) == 50, "of one direction"


def test_efficiency_counts_ten_clocks_besides_the_data():
    assert bus.pci_x_efficiency(512) == pytest.approx(64 / 74)
    assert bus.pci_x_efficiency(4096) == pytest.approx(512 / 522)
    assert bus.pci_x_efficiency(4096, latency_clocks=100) == pytest.approx(512 / 622)


def test_a_last_partial_word_still_takes_a_clock():
    assert bus.pci_x_efficiency(9) == pytest.approx((9 / 8) / 12)


@given(st.integers(1, 4088), st.integers(0, 500))
def test_eight_more_bytes_never_lower_the_efficiency(burst_B, latency_clocks):
    small = bus.pci_x_efficiency(burst_B, latency_clocks=latency_clocks)
    large = bus.pci_x_efficiency(burst_B + 8, latency_clocks=latency_clocks)
    assert 0 < small < large < 1


# PCI Express: rates of a lane, line codes, packet overhead.


@pytest.mark.parametrize(
    "generation, lane_MBps",
    [(1, 250), (2, 500), (3, 984.6), (4, 1969.2), (5, 3938.5), (6, 7562.5), (7, 15125.0)],
)
def test_one_lane_has_the_published_rate_of_its_generation(generation, lane_MBps):
    assert bus.SerialBus(generation).bandwidth_MBps == pytest.approx(lane_MBps, abs=0.05)


def test_lanes_add_up():
    assert bus.SerialBus(3, 16).bandwidth_Mbps == pytest.approx(
        16 * bus.SerialBus(3).bandwidth_Mbps
    )


def test_a_packet_costs_its_header_and_eight_bytes():
    assert bus.SerialBus(3, 8).packet_efficiency(256) == pytest.approx(256 / 280)
    assert bus.SerialBus(1, 8).packet_efficiency(128, header_B=12) == pytest.approx(128 / 148)


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
    link = bus.SerialBus(generation, lanes)
    assert link.most_payload_MBps(payload_B) == pytest.approx(most_MBps, rel=1e-5)
    assert link.payload_MBps(payload_B) < link.most_payload_MBps(payload_B) < link.bandwidth_MBps


def test_generation_6_pays_per_flit():
    link = bus.SerialBus(6, 1)
    assert link.payload_MBps(4096) == pytest.approx(8000 * 236 / 256 * 4096 / 4112)


@given(
    st.integers(1, 7),
    st.sampled_from(bus.PCIE_LANES),
    st.sampled_from([128, 256, 512, 1024, 2048, 4096]),
)
def test_payload_is_below_bandwidth_is_below_the_wire(generation, lanes, payload_B):
    link = bus.SerialBus(generation, lanes)
    assert 0 < link.payload_MBps(payload_B) < link.bandwidth_MBps < link.raw_Mbps / 8


def test_its_text_names_generation_lanes_and_rate():
    assert str(bus.SerialBus(3, 8)) == "PCIe 3.0 x8 (128b/130b), 7877 MB/s each way"


def test_generations_are_found_by_their_rate():
    assert [bus.generation_of(r) for r in (2.5, 5, 8.0, 16, 32, 64, 128)] == [1, 2, 3, 4, 5, 6, 7]


IMPOSSIBLE = [
    *((bus.PCI_X_133.percent, value) for value in (-1, math.nan, math.inf, True, "744")),
    (bus.SerialBus(1, 4).percent, math.nan),
    *((bus.pci, 48, 33), (bus.pci, 32, 100), (bus.pci, 32, 0), (bus.pci, 32, -33)),
    *((bus.pci, 32, math.nan), (bus.pci, 32, "33")),
    *((bus.pci_x, 200), (bus.pci_x, math.inf), (bus.pci_x, 133, 16), (bus.pci_x, 133, 0)),
    (bus.ParallelBus, "PCI-X 1.0", 64, 10**9),
    *((bus.pci_x_efficiency, burst_B) for burst_B in (0, -1, 4097, 512.0, math.nan, None)),
    (partial(bus.pci_x_efficiency, width_bit=16), 512),
    (partial(bus.pci_x_efficiency, latency_clocks=-1), 512),
    *((partial(bus.pci_x_efficiency, header_B=header_B), 512) for header_B in (512, -1)),
    (bus.generation_of, 6),
    *((bus.SerialBus, generation, 1) for generation in (0, 8, 3.0, True)),
    *((bus.SerialBus, 3, lanes) for lanes in (3, 0, -1, "8")),
    *((bus.SerialBus(3).packet_efficiency, payload_B) for payload_B in (64, 300, 8192)),
    (partial(bus.SerialBus(3).packet_efficiency, header_B=20), 256),
]


@pytest.mark.parametrize("call", IMPOSSIBLE)
def test_what_cannot_be_is_refused(call):
    function, *arguments = call
    with pytest.raises(BadInput):
        function(*arguments)
