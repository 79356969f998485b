"""Topology of a lab: hosts, interfaces, addresses and links, derived from the study."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from netlab.errors import BadInput
from netlab.files.yaml_file import from_content, to_content
from netlab.lab import kernel_emulator
from netlab.lab.emulator import EmulatorSettings
from netlab.lab.kernel_emulator import NetemSettings
from netlab.lab.link import LinkSettings
from netlab.study import LabLink, Study
from netlab.study.factors import path_of_link

# RFC 2544 and RFC 5180: set aside for benchmarks, routed nowhere.
IPV4 = ipaddress.ip_network("198.18.0.0/15")
IPV6 = ipaddress.ip_network("2001:2::/48")
INTERFACE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$")
OWN_MTU_B = 1500
"""Default MTU of a veth."""
TAKEN = ("lo", "all", "default")


@dataclass(frozen=True)
class LabEnd:
    host: str
    interface: str
    addresses: tuple[str, ...]
    peers: tuple[str, ...]

    def ip_lines(self, *, ipv6: bool) -> list[str]:
        lines = [f"link set dev {self.interface} addrgenmode none"] if ipv6 else []
        # Up first: an IPv6 address gets no route to its peer on an interface that is down.
        lines.append(f"link set dev {self.interface} up")
        for address, peer in zip(self.addresses, self.peers, strict=True):
            version = ipaddress.ip_address(address).version
            if version == 6 and not ipv6:
                continue
            nodad = " nodad" if version == 6 else ""
            lines.append(f"address add {address} peer {peer} dev {self.interface}{nodad}")
        return lines


@dataclass(frozen=True)
class LabPath:
    """A path in the lab: its ends, their settings, and an emulation by netlab, netem or none."""

    name: str
    ends: tuple[LabEnd, LabEnd]
    settings: LinkSettings
    emulator: EmulatorSettings | None = None
    netem: NetemSettings | None = None
    also: tuple[LabEnd, ...] = ()
    """Ends of further senders, which a switch joins to the first one."""

    @property
    def every_end(self) -> tuple[LabEnd, ...]:
        return (*self.ends, *self.also)

    @property
    def behind_switch(self) -> tuple[LabEnd, ...]:
        """Ends of the hosts that share the link through a switch; none of a path of two."""
        return (self.ends[0], *self.also) if self.also else ()

    @property
    def emulated_with(self) -> str | None:
        """``netlab``, ``netem``, or None."""
        if self.emulator is not None:
            return "netlab"
        return "netem" if self.netem is not None else None

    @property
    def knows_flows(self) -> bool:
        """True if flows of it have round trips of their own, or may have links of their own."""
        if self.emulator is None:
            return False
        return self.emulator.second is not None or self.emulator.ways[0].flow_delay_max_us > 0

    def tc_lines(self, host: str) -> list[str]:
        lines = []
        for direction, end in enumerate(self.every_end):
            if end.host == host:
                lines += self.settings.tc_lines(end.interface)
                lines += self.netem.tc_lines(end.interface, direction) if self.netem else []
        return lines


@dataclass(frozen=True)
class Topology:
    hosts: tuple[str, ...]
    paths: tuple[LabPath, ...]

    def ends(self, host: str) -> list[tuple[LabEnd, LinkSettings]]:
        return [
            (end, path.settings)
            for path in self.paths
            for end in path.every_end
            if end.host == host
        ]

    def tc_lines(self, host: str) -> list[str]:
        return [line for path in self.paths for line in path.tc_lines(host)]

    def as_dict(self) -> dict:
        return to_content(self)

    @classmethod
    def from_dict(cls, content: dict) -> Topology:
        return from_content(Topology, content)


def topology(
    study: Study, kernel: Callable[[], kernel_emulator.KernelFeatures] = kernel_emulator.kernel
) -> Topology:
    hosts = tuple(name for name, host in study.hosts.items() if host.kind == "lab")
    if not hosts:
        message = "the study has no lab host; add one or use hosts over SSH"
        raise BadInput(message, where=study.name, code="E-LAB-024")
    names = interfaces(study)
    mtu_B = max(mtu_B or OWN_MTU_B for level in study.tunings for mtu_B in level.mtus)
    paths = []
    for name in _lab_paths(study):
        path = study.path(name)
        of = _addresses_of(study, name)
        first, second, *also = (
            LabEnd(
                host,
                names[name, host],
                addresses=of[host],
                peers=of[path.hosts[0 if host == path.hosts[1] else 1]],
            )
            for host in path.hosts
        )
        link = path.link or LabLink()
        emulated = link.emulator
        if emulated is None:
            settings = LinkSettings.of(link, study.bus_MBps(name), mtu_B)
            paths.append(LabPath(name, (first, second), settings))
        elif not forced(study, name) and kernel_emulator.takes(emulated, kernel):
            settings, netem = kernel_emulator.link_settings(), NetemSettings.of(emulated, mtu_B)
            paths.append(LabPath(name, (first, second), settings, netem=netem))
        else:
            settings = LinkSettings.of(link, study.bus_MBps(name), mtu_B)
            own = EmulatorSettings.of(emulated, flow_rtt_ms(study, name))
            paths.append(LabPath(name, (first, second), settings, own, also=tuple(also)))
    _check_ends(paths)
    return Topology(hosts, tuple(paths))


def forced(study: Study, path: str) -> bool:
    """True if a path or a group asks of the emulator what netlab's own does alone."""
    name = path_of_link(path)
    if study.paths[name].also:
        return True
    loses = any(g.path == name and g.force_loss_at_s is not None for g in study.groups)
    return loses or flow_rtt_ms(study, path) is not None


def flow_rtt_ms(study: Study, path: str) -> float | None:
    """Longest round trip that flows of a path have of their own, ms; None where none has."""
    name = path_of_link(path)
    flows = (flow for group in study.groups if group.path == name for flow in group.flows)
    return max((flow.rtt_ms for flow in flows if flow.rtt_ms is not None), default=None)


def interfaces(study: Study) -> dict[tuple[str, str], str]:
    """Interface name of each (link, host): as the study says, else data0, data1, ... per host."""
    names: dict[tuple[str, str], str] = {}
    counts: Counter[str] = Counter()
    for path_name in study.links:
        for end in study.path(path_name).every_end:
            names[path_name, end.host] = end.interface or f"data{counts[end.host]}"
            counts[end.host] += 1
    return names


def addresses(study: Study, path: str, version: int) -> dict[str, str]:
    """The address of one IP version that netlab gives to each end of a lab path."""
    names = _lab_paths(study)
    number, (first, second, *also) = names.index(path), study.path(path).hosts
    own = _network(number, version)
    given = {first: str(own + 1), second: str(own + 2)}
    # after the networks of all paths, so that a path's do not depend on the senders of others
    before = sum(len(study.path(name).also) for name in names[:number])
    for at, host in enumerate(also, len(names) + before):
        given[host] = str(_network(at, version) + 1)
    return given


def _network(number: int, version: int) -> Any:
    """First address of the network of that number."""
    if version == 6:
        return IPV6.network_address + (number << 64)
    if 4 * number >= IPV4.num_addresses:
        message = f"the lab has addresses for {IPV4.num_addresses // 4} paths only"
        raise BadInput(message, code="E-LAB-025")
    return IPV4.network_address + 4 * number


def _lab_paths(study: Study) -> list[str]:
    return [
        name for name in study.links if study.hosts[study.path(name).ends[0].host].kind == "lab"
    ]


def _addresses_of(study: Study, path_name: str) -> dict[str, tuple[str, ...]]:
    """Addresses of each host of a path, of either IP version unless the study gives them."""
    ends = study.path(path_name).every_end
    fixed: dict[str, tuple[str, ...]] = {
        end.host: (end.address,) for end in ends if end.address is not None
    }
    if 0 < len(fixed) < len(ends):
        several = "all ends" if len(ends) > 2 else "both ends"
        message = f"in the lab an address is given for {several} or for none"
        where, value = f"paths.{path_name}", next(iter(fixed.values()))[0]
        raise BadInput(message, where=where, value=value, code="E-LAB-026")
    if fixed:
        return fixed
    each = [addresses(study, path_name, version) for version in (4, 6)]
    return {end.host: tuple(of[end.host] for of in each) for end in ends}


def _check_ends(paths: list[LabPath]) -> None:
    seen: set[tuple[str, str]] = set()
    for path in paths:
        for end in path.every_end:
            if end.interface in TAKEN or not INTERFACE.fullmatch(end.interface):
                raise BadInput(
                    "not an interface name: use letters, digits, dot, dash and underscore, "
                    f"but not {', '.join(TAKEN)}",
                    where=f"paths.{path.name}.ends",
                    key=end.host,
                    value=end.interface,
                    code="E-LAB-027",
                )
            for word in (end.interface, *end.addresses):
                if (end.host, word) in seen:
                    message = f"{end.host} has this interface or address on another path too"
                    raise BadInput(
                        message, where=f"paths.{path.name}", value=word, code="E-LAB-028"
                    )
                seen.add((end.host, word))
