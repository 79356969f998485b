"""PCI Express generations 1 to 7: lanes, line code and the overhead of packets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from netlab.bus.checked_numbers import is_whole, percent_of
from netlab.errors import check


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
