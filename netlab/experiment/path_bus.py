"""Bus of a path: what the study states, else what the hosts report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from netlab.bus import PACKET_PAYLOADS_B, link_of, parallel_of
from netlab.files.recorded_facts import HostFacts
from netlab.study import Study

CONTRADICTS = 0.02
"""A stated bandwidth further from the reported one than this share contradicts it."""


@dataclass(frozen=True)
class HostBus:
    bandwidth_MBps: float
    shared: bool
    label: str
    source: str
    line_MBps: float | None = None

    def text(self) -> str:
        by = "study states" if self.source == "study" else "host reports"
        return f"{self.label}, as the {by}"


def reported_bus(facts: HostFacts) -> HostBus | None:
    """The bus that a host's kernel reports for the interface; None if it reports none.

    The directions of PCI Express do not share it. PCI and PCI-X are shared by both directions and
    all devices of the bus; their clock is that of the card's slot, their width the device's.
    """
    link = link_of(facts["bus_speed"], facts["bus_width"])
    if link is None:
        return _parallel(facts)
    payload_B = facts["bus_max_payload_B"]
    line_MBps = link.bandwidth_MBps
    if payload_B not in PACKET_PAYLOADS_B:
        return HostBus(line_MBps, False, link.name, "sysfs", line_MBps)
    label = f"{link.name} ({link.encoding}) in packets of {payload_B} B"
    return HostBus(link.most_payload_MBps(payload_B), False, label, "sysfs", line_MBps)


def _parallel(facts: HostFacts) -> HostBus | None:
    bus = parallel_of(facts["bus_slot_speed"], facts["bus_pci_x_bits"])
    if bus is None:
        return None
    label = f"{bus.name} {bus.width_bit} bit at {bus.clock_MHz:g} MHz"
    devices = facts["bus_devices"] or 1
    if devices > 1:
        label += f", shared by {devices} devices"
    return HostBus(bus.bandwidth_MBps, True, label, "sysfs")


def host_bus(study: Study, host: str, facts: HostFacts) -> HostBus | None:
    stated = study.hosts[host].bus
    if stated is None:
        return reported_bus(facts)
    return HostBus(stated.bandwidth_MBps, stated.shared, stated.label, "study")


def contradiction(study: Study, host: str, facts: HostFacts) -> str | None:
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


def path_bus(
    study: Study, path: str, facts: Mapping[str, HostFacts], senders: Sequence[str] = ()
) -> HostBus | None:
    """The slower of the two buses of a path, shared if one of them is; None if one is unknown.

    Of several ``senders`` the receiver's bus, or theirs together.
    """
    ends = [end.host for end in study.path(path).ends]
    if len(senders) > 1:
        ends = [*senders, *(end for end in ends if end not in senders)]
    buses = [bus for end in ends if (bus := host_bus(study, end, facts[end]))]
    if len(buses) < len(ends):
        return None
    if len(senders) > 1:
        *of_senders, receiver = buses
        buses = [receiver, _together(of_senders)]
    slower = min(buses, key=lambda bus: bus.bandwidth_MBps)
    return replace(slower, shared=any(bus.shared for bus in buses))


def _together(buses: Sequence[HostBus]) -> HostBus:
    """Buses of several hosts as one that carries what all do."""
    labels = " and ".join(dict.fromkeys(bus.label for bus in buses))
    whole_MBps, shared = sum(bus.bandwidth_MBps for bus in buses), any(bus.shared for bus in buses)
    return replace(buses[0], bandwidth_MBps=whole_MBps, shared=shared, label=f"{labels} together")
