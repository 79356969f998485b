"""Bus of a path: what the study states, else what the hosts report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netlab.bus.pcie import PACKET_PAYLOADS_B
from netlab.bus.sysfs import link_of, parallel_of
from netlab.study import Study

CONTRADICTS = 0.02
"""A stated bandwidth further from the reported one than this share contradicts it."""


@dataclass(frozen=True)
class HostBus:
    """Bus of a host's card.

    Attributes
    ----------
    bandwidth_MBps : float
        10^6 B/s of one direction, or of both where they share it: of PCI Express the payload of
        packets of the device's largest size, or what the line code leaves where that is unknown.
    shared : bool
        Both directions share it.
    label : str
        Its name.
    source : str
        ``study`` or ``sysfs``.
    line_MBps : float or None
        What the line code of PCI Express leaves.
    """

    bandwidth_MBps: float
    shared: bool
    label: str
    source: str
    line_MBps: float | None = None

    def text(self) -> str:
        """Its name, and who says so."""
        return (
            f"{self.label}, as the {'study states' if self.source == 'study' else 'host reports'}"
        )


def reported_bus(facts: Mapping) -> HostBus | None:
    """The bus that a host's kernel reports for the interface; None if it reports none.

    The directions of PCI Express do not share it. PCI and PCI-X are shared by both directions and
    all devices of the bus; their clock is that of the card's slot, their width the device's.
    """
    link = link_of(facts.get("bus_speed"), facts.get("bus_width"))
    if link is None:
        return _parallel(facts)
    payload_B = facts.get("bus_max_payload_B")
    if payload_B not in PACKET_PAYLOADS_B:
        return HostBus(link.bandwidth_MBps, False, link.name, "sysfs", link.bandwidth_MBps)
    return HostBus(
        link.most_payload_MBps(payload_B),
        False,
        f"{link.name} ({link.encoding}) in packets of {payload_B} B",
        "sysfs",
        link.bandwidth_MBps,
    )


def _parallel(facts: Mapping) -> HostBus | None:
    bus = parallel_of(facts.get("bus_slot_speed"), facts.get("bus_pci_x_bits"))
    if bus is None:
        return None
    label = f"{bus.name} {bus.width_bit} bit at {bus.clock_MHz:g} MHz"
    devices = facts.get("bus_devices") or 1
    if devices > 1:
        label += f", shared by {devices} devices"
    return HostBus(bus.bandwidth_MBps, True, label, "sysfs")


def host_bus(study: Study, host: str, facts: Mapping) -> HostBus | None:
    """The bus that the study states for a host, else the reported one."""
    stated = study.hosts[host].bus
    if stated is None:
        return reported_bus(facts)
    return HostBus(stated.bandwidth_MBps, stated.shared, stated.label, "study")


def contradiction(study: Study, host: str, facts: Mapping) -> str | None:
    """Describe a stated bus that the host's kernel contradicts; None if there is none."""
    stated, reported = study.hosts[host].bus, reported_bus(facts)
    if stated is None or reported is None:
        return None
    for bandwidth_MBps in (reported.bandwidth_MBps, reported.line_MBps or 0.0):
        if abs(stated.bandwidth_MBps - bandwidth_MBps) <= CONTRADICTS * bandwidth_MBps:
            return None
    return (
        f"the study states {stated.bandwidth_MBps:.0f} MB/s ({stated.label}), and the host reports "
        f"{reported.label}, {reported.bandwidth_MBps:.0f} MB/s; leave out hosts.{host}.bus to use "
        "that"
    )


@dataclass(frozen=True)
class PathBus:
    """The slower of the two buses of a path.

    Attributes
    ----------
    bandwidth_MBps : float or None
        None if one of the buses is unknown.
    shared : bool
        True if any of them carries both directions over the same wires.
    source : str
        Name of the slower one, and who says so; empty if one is unknown.
    """

    bandwidth_MBps: float | None
    shared: bool
    source: str = ""


def path_bus(study: Study, path: str, facts: Mapping[str, Mapping]) -> PathBus:
    """Bus of a path.

    Parameters
    ----------
    study, path
        The path's hosts, and what the study states of their buses.
    facts : mapping of str to mapping
        Facts of each host, see :mod:`netlab.hosts.facts`.
    """
    buses = [host_bus(study, end.host, facts.get(end.host, {})) for end in study.path(path).ends]
    known = [bus for bus in buses if bus is not None]
    shared = any(bus.shared for bus in known)
    if len(known) < len(buses):
        return PathBus(None, shared)
    slower = min(known, key=lambda bus: bus.bandwidth_MBps)
    return PathBus(slower.bandwidth_MBps, shared, slower.text())
