"""Bus of a network interface of this machine, as the kernel reports it in sysfs."""

from __future__ import annotations

import re
from pathlib import Path

from netlab.bus.parallel import ParallelBus, pci, pci_x
from netlab.bus.pcie import SerialBus, generation_of
from netlab.errors import BadInput, check

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
