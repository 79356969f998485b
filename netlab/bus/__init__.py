"""The bus between a network card and memory: PCI, PCI-X, PCI Express; bandwidth and its use.

Bandwidth is in MB/s = 10^6 B/s and Mb/s = 10^6 bit/s, as in the source documents. For a parallel
bus it is width times clock, shared by all that move data on the bus in either direction; for PCI
Express it is per direction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path

from netlab.errors import BadInput, check

# Checks of input that the bus models share.


def is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return math.isfinite(value)


def is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def percent_of(bandwidth_MBps: float, throughput_MBps: float) -> float:
    """A throughput as per cent of a bandwidth; negative and non-numeric input is refused."""
    fine = is_number(throughput_MBps) and throughput_MBps >= 0
    check(fine, "throughput_MBps", throughput_MBps, "must be 0 or more", "E-BUS-001")
    return 100 * float(throughput_MBps) / bandwidth_MBps


# PCI and PCI-X: width times clock, shared by all cards and both directions.

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


# PCI Express generations 1 to 7: lanes, line code and the overhead of packets.


@dataclass(frozen=True)
class _Generation:
    transfer_GTps: float
    line_code: Fraction
    code_name: str
    # Bytes around a packet's header and payload: framing, sequence number, LCRC. From
    # generation 6 on these belong to the flit and are part of flit_share.
    packet_B: int
    flit_share: Fraction = Fraction(1)


_GENERATIONS = {
    1: _Generation(2.5, Fraction(8, 10), "8b/10b", 8),
    2: _Generation(5.0, Fraction(8, 10), "8b/10b", 8),
    3: _Generation(8.0, Fraction(128, 130), "128b/130b", 8),
    4: _Generation(16.0, Fraction(128, 130), "128b/130b", 8),
    5: _Generation(32.0, Fraction(128, 130), "128b/130b", 8),
    6: _Generation(64.0, Fraction(242, 256), "1b/1b flit", 0, Fraction(236, 242)),
    7: _Generation(128.0, Fraction(242, 256), "1b/1b flit", 0, Fraction(236, 242)),
}
PACKET_PAYLOADS_B = (128, 256, 512, 1024, 2048, 4096)
"""Payloads of a packet that a device may be set to (Max_Payload_Size)."""

COMPLETION_HEADER_B = 12
"""Header of a completion, and of a write below 4 GiB: the least of a packet with payload."""

PCIE_LANES = (1, 2, 4, 8, 12, 16, 32)


@dataclass(frozen=True)
class SerialBus:
    """A PCI Express link: dedicated lanes of one device, with equal bandwidth each way."""

    generation: int
    lanes: int = 1

    def __post_init__(self) -> None:
        generation, lanes = self.generation, self.lanes
        fine = is_whole(generation) and generation in _GENERATIONS
        check(fine, "generation", generation, "must be 1 to 7", "E-BUS-012")
        text = f"must be one of {', '.join(map(str, PCIE_LANES))}"
        check(is_whole(lanes) and lanes in PCIE_LANES, "lanes", lanes, text, "E-BUS-013")

    @property
    def name(self) -> str:
        """Usual notation, such as ``PCIe 3.0 x8``."""
        return f"PCIe {self.generation}.0 x{self.lanes}"

    @property
    def encoding(self) -> str:
        """Line code: 8b/10b, 128b/130b, or flits of 256 B of which 242 carry packets."""
        return _GENERATIONS[self.generation].code_name

    @property
    def raw_Mbps(self) -> float:
        """Bits on the wire in one direction, Mb/s."""
        return _GENERATIONS[self.generation].transfer_GTps * 1000 * self.lanes

    @property
    def bandwidth_Mbps(self) -> float:
        """Bandwidth of one direction after the line code, Mb/s."""
        return float(Fraction(self.raw_Mbps) * _GENERATIONS[self.generation].line_code)

    @property
    def bandwidth_MBps(self) -> float:
        """Bandwidth of one direction after the line code, MB/s."""
        return self.bandwidth_Mbps / 8

    def packet_efficiency(self, payload_B: int = 256, *, header_B: int = 16) -> float:
        """Share of the bandwidth that is payload, with packets of one size.

        A packet carries ``header_B`` of header and 8 bytes of framing, sequence number and LCRC
        (2 + 2 + 4 in generations 1 and 2: start and end symbol, sequence, LCRC; 4 + 4 in 3 to 5:
        start token with the sequence, LCRC). Generations 6 and 7 send flits of 256 B, of which 236
        are packets and 6 link-layer words. Acknowledgements, flow control and skip symbols are
        not counted, so this is an upper bound. Source: PCI Express Base Specification 6.0, and
        7.0 for its rate, transaction and data link layers.
        """
        fine, text = payload_B in PACKET_PAYLOADS_B, "must be a power of two, 128 to 4096"
        check(fine, "payload_B", payload_B, text, "E-BUS-014")
        check(header_B in (12, 16), "header_B", header_B, "must be 12 or 16", "E-BUS-015")
        gen = _GENERATIONS[self.generation]
        return float(gen.flit_share * Fraction(payload_B, payload_B + header_B + gen.packet_B))

    def payload_MBps(self, payload_B: int = 256, *, header_B: int = 16) -> float:
        """Payload one direction can carry with packets of one size, MB/s."""
        return self.bandwidth_MBps * self.packet_efficiency(payload_B, header_B=header_B)

    def most_payload_MBps(self, payload_B: int) -> float:
        """Most payload that one direction carries with packets of at most a size, MB/s.

        Every packet is full and has the shortest header, :data:`COMPLETION_HEADER_B`, so no
        transfer is faster; reads by a card are answered in completions with that header.
        """
        return self.payload_MBps(payload_B, header_B=COMPLETION_HEADER_B)

    def percent(self, throughput_MBps: float) -> float:
        return percent_of(self.bandwidth_MBps, throughput_MBps)

    def __str__(self) -> str:
        return f"{self.name} ({self.encoding}), {self.bandwidth_MBps:.0f} MB/s each way"


def generation_of(transfer_GTps: float) -> int:
    """The PCI Express generation with a transfer rate of a lane, GT/s."""
    numbers = {generation.transfer_GTps: number for number, generation in _GENERATIONS.items()}
    text = f"must be one of {', '.join(f'{rate:g}' for rate in numbers)}"
    check(transfer_GTps in numbers, "transfer_GTps", transfer_GTps, text, "E-BUS-016")
    return numbers[transfer_GTps]


# Bus of a network interface of this machine, as the kernel reports it in sysfs.

_NAME = re.compile(r"(?!\.{1,2}$)[^\s/:]{1,15}")
_SPEED = re.compile(r"([\d.]+) GT/s")
_SLOT = re.compile(r"(\d+) MHz (PCI|PCI-X)(?:(?<=133 MHz PCI-X) (266|533))?")


def of_interface(interface: str, sysfs: str | Path = "/sys") -> str:
    """The link between an interface and memory, and the fastest that the device supports."""
    fine = isinstance(interface, str) and _NAME.fullmatch(interface)
    check(fine, "interface", interface, "not a valid interface name", "E-BUS-017")
    entry = Path(sysfs) / "class" / "net" / interface
    check(entry.exists(), "interface", interface, f"no such interface under {sysfs}", "E-BUS-018")
    device = (entry / "device").resolve()
    if (device / "subsystem").resolve().name != "pci":
        return "no bus"
    # A virtual function reports no link; it shares the one of its physical function.
    if (device / "physfn").exists():
        device = (device / "physfn").resolve()
    links = []
    for which in ("current", "max"):
        try:
            width = int((device / f"{which}_link_width").read_text())
            links.append(link_of((device / f"{which}_link_speed").read_text(), width))
        except (OSError, ValueError):
            links.append(None)
    bus, best = links
    if bus is None:
        return "PCI, link speed not reported"
    # slower than the device supports, as in a half-speed slot
    slower = best is not None and bus.bandwidth_Mbps < best.bandwidth_Mbps
    return f"{bus}; the device supports {best}" if slower else str(bus)


def parallel_of(speed: str | None, width_bit: int | None) -> ParallelBus | None:
    """The PCI or PCI-X bus of a slot.

    Examples
    --------
    >>> print(parallel_of("133 MHz PCI-X", 64))
    PCI-X 1.0 64 bit x 133 MHz, 1064 MB/s
    """
    slot = _SLOT.fullmatch((speed or "").strip())
    if slot is None or not width_bit:
        return None
    try:
        if slot[2] == "PCI":
            return None if slot[3] else pci(width_bit, int(slot[1]))
        # transfers per microsecond: PCI-X 2.0 has two or four a clock
        return pci_x(int(slot[3] or slot[1]), width_bit)
    except BadInput:  # a clock or width that no such bus has
        return None


def link_of(speed: str | None, width: int | None) -> SerialBus | None:
    """The link that the kernel describes.

    Examples
    --------
    >>> print(link_of("8.0 GT/s PCIe", 8).name)
    PCIe 3.0 x8
    """
    rate = _SPEED.match(speed or "")
    if rate is None or not width:
        return None
    try:
        return SerialBus(generation_of(float(rate[1])), width)
    except BadInput:  # a rate or width newer than this table, or "255 lanes"
        return None
