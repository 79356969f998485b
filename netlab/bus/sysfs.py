"""Today's bus of a network interface, as the kernel reports it in sysfs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from netlab.bus.pcie import SerialBus, generation_of
from netlab.errors import BadInput

_NAME = re.compile(r"[^\s/:]{1,15}")
_SPEED = re.compile(r"([\d.]+) GT/s")


@dataclass(frozen=True)
class InterfaceBus:
    """What joins an interface to memory.

    Parameters
    ----------
    interface : str
        Name of the interface.
    bus : SerialBus or None
        The link as it runs now; None if there is none or the kernel does not report it.
    best : SerialBus or None
        The most the device can run at, where reported.
    address : str
        PCI address of the device; empty without one.
    note : str
        Why there is no ``bus``; empty if there is one.
    """

    interface: str
    bus: SerialBus | None
    best: SerialBus | None = None
    address: str = ""
    note: str = ""

    @property
    def degraded(self) -> bool:
        """Whether the link runs below what the device can do, as in a half-speed slot."""
        return (
            self.bus is not None
            and self.best is not None
            and self.bus.bandwidth_Mbps < self.best.bandwidth_Mbps
        )

    def __str__(self) -> str:
        return self.note if self.bus is None else str(self.bus)


def of_interface(interface: str, sysfs: str | Path = "/sys") -> InterfaceBus:
    """The bus of a network interface.

    Parameters
    ----------
    interface : str
        Name such as ``eth0``.
    sysfs : str or Path
        Where sysfs is mounted.

    Returns
    -------
    InterfaceBus
        Its text is ``no bus`` for a virtual device (veth, loopback, bridge, virtio, ...).

    Raises
    ------
    BadInput
        No kernel would take the name, or there is no such interface.
    """
    valid = isinstance(interface, str) and _NAME.fullmatch(interface)
    if not valid or interface in (".", ".."):
        raise BadInput("is not a name an interface can have", key="interface", value=interface)
    entry = Path(sysfs) / "class" / "net" / interface
    if not entry.exists():
        raise BadInput(f"no such interface under {sysfs}", key="interface", value=interface)
    device = entry / "device"
    if not device.exists():
        return InterfaceBus(interface, None, note="no bus")
    real = device.resolve()
    subsystem = (real / "subsystem").resolve().name
    if subsystem != "pci":
        return InterfaceBus(interface, None, note="no bus")
    # A virtual function reports no link of its own: it shares its physical function's.
    if (real / "physfn").exists():
        real = (real / "physfn").resolve()
    bus = _link(real, "current_link_speed", "current_link_width")
    best = _link(real, "max_link_speed", "max_link_width")
    note = "" if bus else "PCI, link speed not reported"
    return InterfaceBus(interface, bus, best, real.name, note)


def _link(device: Path, speed_file: str, width_file: str) -> SerialBus | None:
    try:
        speed = _SPEED.match((device / speed_file).read_text())
        lanes = int((device / width_file).read_text())
    except (OSError, ValueError):
        return None
    if speed is None or lanes == 0:
        return None
    try:
        return SerialBus(generation_of(float(speed[1])), lanes)
    except BadInput:  # a rate or width of a kernel newer than this table, or "255 lanes"
        return None
