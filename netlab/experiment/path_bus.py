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
    """Bus of a host's card."""

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
    """The slower of the two buses of a path."""

    bandwidth_MBps: float | None
    shared: bool
    source: str = ""


def path_bus(study: Study, path: str, facts: Mapping[str, Mapping]) -> PathBus:
    """Bus of a path."""
    buses = [host_bus(study, end.host, facts.get(end.host, {})) for end in study.path(path).ends]
    known = [bus for bus in buses if bus is not None]
    shared = any(bus.shared for bus in known)
    if len(known) < len(buses):
        return PathBus(None, shared)
    slower = min(known, key=lambda bus: bus.bandwidth_MBps)
    return PathBus(slower.bandwidth_MBps, shared, slower.text())
