"""Find the paths that join two hosts, and ping each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from netlab.errors import NetlabError
from netlab.hosts.host import Host
from netlab.survey.surveyed import Address, FoundEnd, FoundPath, HostSurvey, Interface

PINGS = 3
PING_TIMEOUT_S = 30.0
PING = r"""
PATH=$PATH:/usr/sbin:/sbin
case $2 in *:*) v=-6;; *) v=-4;; esac
LC_ALL=C ping $v -c "$3" -W 2 -I "$1" "$2" 2>/dev/null || LC_ALL=C ping -c "$3" -W 2 -I "$1" "$2"
"""
ROUTE = r"""
PATH=$PATH:/usr/sbin:/sbin
ip -o route get "$1" 2>/dev/null
"""
_TIMES = re.compile(r"= [\d.]+/([\d.]+)/[\d.]+")


def find_paths(
    hosts: tuple[Host, Host],
    surveys: tuple[HostSurvey, HostSurvey],
    data: tuple[str, str] | None = None,
) -> tuple[FoundPath, ...]:
    """Find the paths between two hosts.

    Two interfaces are joined if each has an address in the network of the other and a ping comes
    back. Without any, the path is the one that packets to the SSH address of the other host take.
    """
    found: list[FoundPath] = []
    for ends in _given(surveys, data) if data else _ranked(joined(*surveys)):
        taken = {(e.host.name, e.interface.name) for path in found for e in path.ends}
        if any((end.host.name, end.interface.name) in taken for end in ends):
            continue
        rtt_ms = _ping(hosts[0], ends)
        if rtt_ms is not None:
            found.append(FoundPath(ends, rtt_ms, routed=not _direct(ends)))
    if not found and not data:
        routed = _routed(hosts, surveys)
        rtt_ms = None if routed is None else _ping(hosts[0], routed)
        if routed is not None and rtt_ms is not None:
            found.append(FoundPath(routed, rtt_ms, routed=True))
    if not found:
        listed = "; ".join(f"{each.name}: {_listed(each)}" for each in surveys)
        raise NetlabError(
            f"no path between the hosts on which a ping comes back ({listed}); bring the data "
            "link up, or give the two data addresses with --data",
            code="E-SURVEY-001",
        )
    return tuple(found)


def joined(left: HostSurvey, right: HostSurvey) -> Iterator[tuple[FoundEnd, FoundEnd]]:
    """Pairs of interfaces that are up and whose addresses are in one network; IPv4 first."""
    for version in (4, 6):
        for one in left.interfaces:
            for other in right.interfaces:
                pair = one.up and other.up and _first(one, other, version)
                if pair:
                    yield (FoundEnd(left, one, pair[0].own), FoundEnd(right, other, pair[1].own))


def _first(one: Interface, other: Interface, version: int) -> tuple[Address, Address] | None:
    for ours in one.addresses:
        for theirs in other.addresses:
            if ours.version == theirs.version == version and ours.joins(theirs):
                return ours, theirs
    return None


def _ranked(pairs: Iterator[tuple[FoundEnd, FoundEnd]]) -> list[tuple[FoundEnd, FoundEnd]]:
    def rank(ends: tuple[FoundEnd, FoundEnd]) -> tuple[bool, int, int]:
        speeds = [end.interface.speed_Mbps or 0 for end in ends]
        version = 6 if ":" in ends[0].address else 4
        return any(end.is_management for end in ends), version, -min(speeds)

    return sorted(pairs, key=rank)


def _given(
    surveys: tuple[HostSurvey, HostSurvey], data: tuple[str, str]
) -> list[tuple[FoundEnd, FoundEnd]]:
    left, right = (
        _end_with(survey, address) for survey, address in zip(surveys, data, strict=True)
    )
    return [(left, right)]


def _end_with(survey: HostSurvey, address: str) -> FoundEnd:
    for interface in survey.interfaces:
        if address in {each.own for each in interface.addresses}:
            return FoundEnd(survey, interface, address)
    raise NetlabError(
        f"{survey.name}: no interface has the address {address}; it has {_listed(survey)}",
        code="E-SURVEY-002",
    )


def _listed(survey: HostSurvey) -> str:
    pairs = (
        f"{interface.name} {address.own}{'' if interface.up else ' (down)'}"
        for interface in survey.interfaces
        for address in interface.addresses
    )
    return ", ".join(pairs) or "no address"


def _direct(ends: tuple[FoundEnd, FoundEnd]) -> bool:
    return any(
        ours.own == ends[0].address and theirs.own == ends[1].address and ours.joins(theirs)
        for ours in ends[0].interface.addresses
        for theirs in ends[1].interface.addresses
    )


def _routed(
    hosts: tuple[Host, Host], surveys: tuple[HostSurvey, HostSurvey]
) -> tuple[FoundEnd, FoundEnd] | None:
    """The ends that packets between the SSH addresses of the hosts leave from."""
    ends = []
    for host, survey, other in zip(hosts, surveys, reversed(surveys), strict=True):
        if not other.ssh_address:
            return None
        argv = ("sh", "-c", ROUTE, "route", other.ssh_address)
        words = host.run(argv, check=False).stdout.split()
        if "src" not in words[:-1]:
            return None
        try:
            ends.append(_end_with(survey, words[words.index("src") + 1]))
        except NetlabError:  # an interface without a place in a study, such as loopback
            return None
    return ends[0], ends[1]


def _ping(host: Host, ends: tuple[FoundEnd, FoundEnd]) -> float | None:
    """Mean round trip between two ends, ms; None if no ping comes back."""
    argv = ("sh", "-c", PING, "ping", ends[0].address, ends[1].address, str(PINGS))
    done = host.run(argv, timeout_s=PING_TIMEOUT_S, check=False)
    times = _TIMES.search(done.stdout)
    return float(times[1]) if times else None
