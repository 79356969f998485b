"""PCI and PCI-X: the printed figures, the sharing rules, the burst model."""

import math

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


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, True, "744"])
def test_an_invalid_throughput_is_refused(value):
    with pytest.raises(BadInput):
        bus.PCI_X_133.percent(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: bus.pci(48, 33),
        lambda: bus.pci(32, 100),
        lambda: bus.pci(32, 0),
        lambda: bus.pci(32, -33),
        lambda: bus.pci(32, math.nan),
        lambda: bus.pci(32, "33"),
        lambda: bus.pci_x(200),
        lambda: bus.pci_x(math.inf),
        lambda: bus.pci_x(133, 16),
        lambda: bus.pci_x(133, 0),
        lambda: bus.ParallelBus("PCI-X 1.0", 64, 10**9),
    ],
)
def test_a_bus_that_cannot_be_is_refused(make):
    with pytest.raises(BadInput):
        make()


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


@pytest.mark.parametrize("burst_B", [0, -1, 4097, 512.0, math.nan, None])
def test_a_burst_that_pci_x_does_not_have_is_refused(burst_B):
    with pytest.raises(BadInput, match="burst_B"):
        bus.pci_x_efficiency(burst_B)


@pytest.mark.parametrize(
    "options", [{"width_bit": 16}, {"latency_clocks": -1}, {"header_B": 512}, {"header_B": -1}]
)
def test_other_parameters_are_checked(options):
    with pytest.raises(BadInput):
        bus.pci_x_efficiency(512, **options)
