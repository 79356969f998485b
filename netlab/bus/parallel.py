"""PCI and PCI-X: width times clock, shared by all cards and both directions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from netlab.bus.checked_numbers import is_number, is_whole, percent_of
from netlab.errors import check

# The family's clocks are one 133 1/3 MHz oscillator and its divisions, multiplied per transfer in
# PCI-X 2.0. The documents use the label 133 and its exact divisions, which is the only reading that
# gives all their figures: 133, 266, 532 and 1064 MB/s.
_CLOCK_MHZ: dict[float, Fraction] = {33: Fraction(133, 4), 66: Fraction(133, 2), 533: Fraction(532)}
_MAX_CLOCK_MHZ = 1066
MMRBC_BYTES = (512, 1024, 2048, 4096)

# PCI-X phases around the data of one transaction, in clocks (see pci_x_efficiency).
_REQUEST_CLOCKS = 5
_COMPLETION_CLOCKS = 5


@dataclass(frozen=True)
class ParallelBus:
    """PCI or PCI-X: one set of data lines shared by every card on it."""

    name: str
    width_bit: int
    clock_MHz: float

    def __post_init__(self) -> None:
        width, clock = self.width_bit, self.clock_MHz
        check(width in (16, 32, 64), "width_bit", width, "must be 16, 32 or 64", "E-BUS-002")
        fine = is_number(clock) and 0 < clock <= _MAX_CLOCK_MHZ
        text = f"must be above 0 and at most {_MAX_CLOCK_MHZ}"
        check(fine, "clock_MHz", clock, text, "E-BUS-003")

    @property
    def bandwidth_Mbps(self) -> float:
        """Theoretical bandwidth as the documents count it, Mb/s."""
        return float(self.width_bit * _CLOCK_MHZ.get(self.clock_MHz, self.clock_MHz))

    @property
    def bandwidth_MBps(self) -> float:
        """Theoretical bandwidth as the documents count it, MB/s."""
        return self.bandwidth_Mbps / 8

    def percent(self, throughput_MBps: float) -> float:
        return percent_of(self.bandwidth_MBps, throughput_MBps)

    def __str__(self) -> str:
        return (
            f"{self.name} {self.width_bit} bit x {self.clock_MHz:g} MHz, "
            f"{self.bandwidth_MBps:g} MB/s"
        )


def pci(width_bit: int = 32, clock_MHz: float = 33) -> ParallelBus:
    text = "PCI is 32 or 64 bit wide"
    check(width_bit in (32, 64), "width_bit", width_bit, text, "E-BUS-004")
    fine = is_number(clock_MHz) and clock_MHz <= 66
    check(fine, "clock_MHz", clock_MHz, "PCI runs at 66 MHz at most", "E-BUS-005")
    return ParallelBus("PCI", width_bit, clock_MHz)


def pci_x(clock_MHz: float = 133, width_bit: int = 64) -> ParallelBus:
    """PCI-X 1.0 up to 133 MHz, PCI-X 2.0 (two or four transfers a clock) at 266 and 533."""
    fine = is_number(clock_MHz) and (clock_MHz <= 133 or clock_MHz in (266, 533))
    text = "PCI-X runs at up to 133, at 266 or at 533 MHz"
    check(fine, "clock_MHz", clock_MHz, text, "E-BUS-006")
    fine, text = clock_MHz > 133 or width_bit != 16, "PCI-X 1.0 is 32 or 64 bit wide"
    check(fine, "width_bit", width_bit, text, "E-BUS-007")
    return ParallelBus("PCI-X 2.0" if clock_MHz > 133 else "PCI-X 1.0", width_bit, clock_MHz)


PCI_32_33 = pci(32, 33)
PCI_32_66 = pci(32, 66)
PCI_64_66 = pci(64, 66)
PCI_X_100 = pci_x(100)
PCI_X_133 = pci_x(133)


def shared(
    bus: ParallelBus, cards: Iterable[ParallelBus] = (), *, half_speed_slot: bool = False
) -> ParallelBus:
    """The bus at the clock that its cards allow.

    A bus and its cards run at the clock of the slowest of them (openlab report, 2.3 and 5.2);
    a slot wired for half speed halves the clock (preliminary notes, PCI-X slot 4). With a
    conventional PCI card on it, PCI-X runs as PCI.
    """
    fitted = (bus, *cards)
    clock_MHz = min(card.clock_MHz for card in fitted)
    if half_speed_slot:
        clock_MHz = min(clock_MHz, bus.clock_MHz / 2)
    name = "PCI-X 2.0" if clock_MHz > 133 else "PCI-X 1.0"
    name = "PCI" if any(card.name == "PCI" for card in fitted) else name
    return ParallelBus(name, bus.width_bit, clock_MHz)


def pci_x_efficiency(
    burst_B: int, *, width_bit: int = 64, latency_clocks: int = 0, header_B: int = 0
) -> float:
    """Share of a PCI-X bus that carries data when a card reads memory in bursts.

    The model: a card that transmits reads memory with split transactions of at most MMRBC bytes
    each (maximum memory read byte count, 512 to 4096). One read holds the bus twice. The request
    takes an address, an attribute and a target response phase, in which the bridge answers
    "split", and a turn-around with the change of owner: 5 clocks. The completion takes an
    address, an attribute and a response phase, then one clock for each ``width_bit`` of data,
    then 2 clocks of turn-around and change of owner: 5 clocks besides the data. So

        efficiency = n / (n + 10 + latency_clocks),   n = ceil(burst_B / (width_bit / 8)).

    Source of the phases: PCI-X Addendum to the PCI Local Bus Specification, revision 1.0
    (PCI-SIG, 1999), on transaction phases and split transactions; two clocks for turn-around and
    arbitration are this model's allowance. It leaves out descriptors, doorbells, bursts cut at
    128 B boundaries and waiting for memory (give ``latency_clocks`` to try a value), so it is
    an upper bound.
    """
    fine = is_whole(burst_B) and 1 <= burst_B <= 4096
    check(fine, "burst_B", burst_B, "must be 1 to 4096 bytes", "E-BUS-008")
    check(width_bit in (32, 64), "width_bit", width_bit, "must be 32 or 64", "E-BUS-009")
    fine, text = is_whole(latency_clocks) and latency_clocks >= 0, "must be a whole number from 0"
    check(fine, "latency_clocks", latency_clocks, text, "E-BUS-010")
    fine = is_whole(header_B) and 0 <= header_B < burst_B
    check(fine, "header_B", header_B, "must be 0 to below burst_B", "E-BUS-011")
    data_clocks = math.ceil(burst_B / (width_bit / 8))
    clocks = _REQUEST_CLOCKS + _COMPLETION_CLOCKS + data_clocks + latency_clocks
    return (burst_B - header_B) / (width_bit / 8) / clocks
