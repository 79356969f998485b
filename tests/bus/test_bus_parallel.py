"""PCI, PCI-X and PCI Express: the printed figures, the sharing rules, bursts and packets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab import bus
from netlab.bus import PCI_32_33, PCI_X_100, PCI_X_133, SerialBus, shared


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
