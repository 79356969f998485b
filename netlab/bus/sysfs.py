"""Bus of a network interface of this machine, as the kernel reports it in sysfs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from netlab.bus.parallel import ParallelBus, pci, pci_x
from netlab.bus.pcie import SerialBus, generation_of
from netlab.errors import BadInput

_NAME = re.compile(r"[^\s/:]{1,15}")
_SPEED = re.compile(r"([\d.]+) GT/s")
_SLOT = re.compile(r"(\d+) MHz (PCI|PCI-X)(?: (266|533))?")
_RATES = {(133, "266"): 266, (133, "533"): 533}
"""Transfers per microsecond of PCI-X 2.0 by its clock and mode."""


@dataclass(frozen=True)
class InterfaceBus:
    """Link between a network interface and memory."""

    interface: str
    bus: SerialBus | None
    best: SerialBus | None = None
    address: str = ""
    note: str = ""

    @property
    def degraded(self) -> bool:
        """True if the link is slower than the device supports, as in a half-speed slot."""
        return (
            self.bus is not None
            and self.best is not None
            and self.bus.bandwidth_Mbps < self.best.bandwidth_Mbps
        )

    def __str__(self) -> str:
        if self.bus is None:
            return self.note
        return f"{self.bus}; the device supports {self.best}" if self.degraded else str(self.bus)


def of_interface(interface: str, sysfs: str | Path = "/sys") -> InterfaceBus:
    """The bus of a network interface."""
    valid = isinstance(interface, str) and _NAME.fullmatch(interface)
    if not valid or interface in (".", ".."):
        raise BadInput(
            "not a valid interface name", key="interface", value=interface, code="E-BUS-017"
        )
    entry = Path(sysfs) / "class" / "net" / interface
    if not entry.exists():
        raise BadInput(
            f"no such interface under {sysfs}", key="interface", value=interface, code="E-BUS-018"
        )
    device = entry / "device"
    if not device.exists():
        return InterfaceBus(interface, None, note="no bus")
    real = device.resolve()
    subsystem = (real / "subsystem").resolve().name
    if subsystem != "pci":
        return InterfaceBus(interface, None, note="no bus")
    # A virtual function reports no link; it shares the one of its physical function.
    if (real / "physfn").exists():
        real = (real / "physfn").resolve()
    bus = _link(real, "current_link_speed", "current_link_width")
    best = _link(real, "max_link_speed", "max_link_width")
    note = "" if bus else "PCI, link speed not reported"
    return InterfaceBus(interface, bus, best, real.name, note)


def _link(device: Path, speed_file: str, width_file: str) -> SerialBus | None:
    try:
        return link_of((device / speed_file).read_text(), int((device / width_file).read_text()))
    except (OSError, ValueError):
        return None


def parallel_of(speed: str | None, width_bit: int | None) -> ParallelBus | None:
    """The PCI or PCI-X bus of a slot.

    Examples
    --------
    >>> print(parallel_of("133 MHz PCI-X", 64))
    PCI-X 1.0 64 bit x 133 MHz, 1064 MB/s
    """
    found = _SLOT.fullmatch((speed or "").strip())
    if found is None or not width_bit:
        return None
    clock_MHz, name, mode = int(found[1]), found[2], found[3]
    rate = _RATES.get((clock_MHz, mode)) if mode else clock_MHz
    if rate is None or (name == "PCI" and mode):
        return None
    try:
        return pci(width_bit, rate) if name == "PCI" else pci_x(rate, width_bit)
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
