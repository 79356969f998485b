"""Find the paths that join two hosts, by a TCP connection; pings give the round trip."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, product
from typing import Any

from netlab.errors import BadInput, HostError, NetlabError, RunError, check
from netlab.files.yaml_file import validated
from netlab.hosts.at_once import together
from netlab.hosts.host import Host
from netlab.hosts.host_facts import ONE_HOST, is_one_host
from netlab.hosts.opening import close_hosts, open_all
from netlab.hosts.route import route_of
from netlab.hosts.ssh import SshHost
from netlab.measure.link_local import is_link_local, scoped, without_scope
from netlab.study import StudyHost
from netlab.survey.connection import Connected, Connector
from netlab.survey.probe import survey
from netlab.survey.surveyed import FoundEnd, FoundPath, HostSurvey, Interface

Ends = tuple[FoundEnd, FoundEnd]

PINGS = 3
PING_TIMEOUT_S = 30.0
MOST_CABLES, PINGS_AT_ONCE = 64, 8
"""Pairs of cards on a cable that are tried at most; a ping without an answer takes 2 s."""

# An older ping has no -4 and -6, and exits with 2.
PING = r"""
PATH=$PATH:/usr/sbin:/sbin
case $2 in *:*) v=-6;; *) v=-4;; esac
LC_ALL=C ping $v -c "$3" -W 2 -I "$1" "$2" 2>/dev/null
if [ $? -eq 2 ]; then LC_ALL=C exec ping -c "$3" -W 2 -I "$1" "$2"; fi
"""
ROUTE = r"""
PATH=$PATH:/usr/sbin:/sbin
ip -o route get "$1" ${2:+from "$2"} 2>/dev/null
"""
_TIMES = re.compile(r"= [\d.]+/([\d.]+)/[\d.]+")


def surveyed(
    logins: Mapping[str, StudyHost], data: tuple[str, str] | None = None
) -> tuple[FoundPath, ...]:
    """Survey two hosts and find their paths; no setting of them is changed."""
    hosts = {
        name: SshHost(
            name, str(at.address), user=at.user, port=at.port, identity_file=at.identity_file
        )
        for name, at in logins.items()
    }
    open_all(hosts)
    try:
        left, right = hosts.values()
        looks = [partial(survey, host) for host in (left, right)]
        first, other = (done.result() for done in together(looks, at_once=2))
        if is_one_host(first.namespace, other.namespace):
            raise HostError(" and ".join(hosts), ONE_HOST, code="E-SURVEY-011")
        with Connector(left, right) as connector:
            return find_paths((left, right), (first, other), connector, data)
    finally:
        close_hosts(hosts)


def find_paths(
    hosts: tuple[Host, Host],
    surveys: tuple[HostSurvey, HostSurvey],
    connector: Connector,
    data: tuple[str, str] | None = None,
) -> tuple[FoundPath, ...]:
    """Find the paths between two hosts.

    Two interfaces are joined if each has an address in the network of the other and a TCP
    connection passes. Cards that have link-local addresses alone, as those of a bare cable, are
    tried where no other than the path of SSH is found; those in the switch of the cards of SSH
    come before these only if they are faster. Without any, the path is the one that
    packets to the SSH address of the other host take.
    """
    paths: list[FoundPath] = []
    refusals: list[str] = []

    def tried(ends: Ends, *, routed: bool) -> list[FoundPath]:
        try:
            _check_routes(hosts, ends)
            return [_connected(hosts[0], ends, connector, routed=routed)]
        except RunError as error:
            refusals.append(f"{ends[0].address} and {ends[1].address}: {error}")
            return []

    def try_each(candidates: Iterable[Ends]) -> None:
        for ends in candidates:
            taken = {(e.host.name, e.interface.name) for path in paths for e in path.ends}
            if taken.isdisjoint((end.host.name, end.interface.name) for end in ends):
                paths.extend(tried(ends, routed=not _direct(ends)))

    try_each([_given(hosts, surveys, data)] if data else sorted(joined(*surveys), key=_rank))
    if not data and all(any(end.is_management for end in path.ends) for path in paths):
        by_ssh, paths = paths, []
        try_each(_cables(hosts[0], *surveys))
        beside = _beside_ssh(hosts[0], surveys[1], paths)
        paths = [replace(path, beside_ssh=path.ends[0].interface.name in beside) for path in paths]
        # another card of the same switch is the better path only if it is faster
        paths = sorted((*paths, *by_ssh), key=partial(_rank_by_switch, by_ssh))
    if not paths and not data and (routed := _routed(hosts, surveys)):
        paths += tried(routed, routed=True)
    if not paths:
        listed = "; ".join(f"{each.name}: {_listed(each)}" for each in surveys)
        remedy = "bring the data link up"
        if not data:
            remedy += ", or give the two data addresses with --data"
        message = f"no TCP connection passes between the hosts ({listed}); {remedy}"
        raise NetlabError("\n| ".join([message, *refusals]), code="E-SURVEY-001")
    return tuple(paths)


def joined(left: HostSurvey, right: HostSurvey) -> Iterator[Ends]:
    """Pairs of interfaces that are up and whose addresses are in one network; IPv4 first."""
    for version, one, other in product((4, 6), left.interfaces, right.interfaces):
        if one.up and other.up:
            pairs = product(one.addresses, other.addresses)
            both = (p for p in pairs if p[0].version == p[1].version == version)
            for ours, theirs in islice((p for p in both if p[0].joins(p[1])), 1):
                yield FoundEnd(left, one, ours.own), FoundEnd(right, other, theirs.own)


def _cables(host: Host, left: HostSurvey, right: HostSurvey) -> list[Ends]:
    """Cards without another address than a link-local one, between which a ping comes back."""
    bare = [
        [(card, card.link_local[0].own) for card in each.interfaces if _is_bare(card)]
        for each in (left, right)
    ]
    pairs = list(islice(product(*bare), MOST_CABLES))
    pings = _pings(host, [(card.name, scoped(to, card.name)) for (card, _), (_, to) in pairs])
    return [
        (FoundEnd(left, *one), FoundEnd(right, *other))
        for (one, other), answered in zip(pairs, pings, strict=True)
        if answered
    ]


def _pings(host: Host, targets: Iterable[tuple[str, str]]) -> Iterator[bool]:
    """True for each card and address between which a ping comes back."""
    pings = [
        partial(
            host.run,
            ("sh", "-c", PING, "ping", card, address, "1"),
            timeout_s=PING_TIMEOUT_S,
            check=False,
        )
        for card, address in targets
    ]
    for done in together(pings, at_once=PINGS_AT_ONCE):
        yield _TIMES.search(done.result().stdout) is not None


def _beside_ssh(host: Host, other: HostSurvey, paths: Sequence[FoundPath]) -> set[str]:
    """Cards of a host that reach the card of the other host which carries SSH."""
    management = _holder(other, other.ssh_address)
    if management is None or not management.link_local:
        return set()
    names = [path.ends[0].interface.name for path in paths]
    address = management.link_local[0].own
    pings = _pings(host, [(name, scoped(address, name)) for name in names])
    return {name for name, answered in zip(names, pings, strict=True) if answered}


def _rank_by_switch(by_ssh: Sequence[FoundPath], path: FoundPath) -> int:
    """Order of separate cards, cards beside those of SSH that are faster, SSH, and the others."""
    if not path.beside_ssh:
        return 2 if path in by_ssh else 0
    fastest_Mbps = max((each.speed_Mbps or 0 for each in by_ssh), default=0)
    return 1 if (path.speed_Mbps or 0) > fastest_Mbps else 3


def _is_bare(card: Interface) -> bool:
    return card.up and bool(card.link_local) and not card.addresses and not card.stack.is_port


def _rank(ends: Ends) -> tuple[bool, bool, int]:
    slowest_Mbps = min(end.interface.speed_Mbps or 0 for end in ends)
    return any(end.is_management for end in ends), ":" in ends[0].address, -slowest_Mbps


def _given(
    hosts: tuple[Host, Host], surveys: tuple[HostSurvey, HostSurvey], data: tuple[str, str]
) -> Ends:
    """The ends of two data addresses; a link-local one may have its interface as scope."""
    if all(map(_has, surveys, reversed(data))) and not all(map(_has, surveys, data)):
        left, right = (survey.name for survey in surveys)
        text = f"{data[0]} is an address of {right} and {data[1]} one of {left}; exchange them"
        raise NetlabError(f"--data: {text}", code="E-SURVEY-012")
    for one, address, other in zip(surveys, data, reversed(surveys), strict=True):
        if not _has(one, address):
            text = f"no interface has the address {address}; it has {_listed(one)}"
            if _has(other, address):
                text += f"; {other.name} has it: --data takes an address of each host, in order"
            raise NetlabError(f"{one.name}: {text}", code="E-SURVEY-002")
    kinds = {address: _kind(address) for address in data}
    if len({*kinds.values()}) > 1:
        given = " and ".join(f"{address} is {kind}" for address, kind in kinds.items())
        listed = "; ".join(f"{each.name} has {_listed(each)}" for each in surveys)
        text = f"{given}: a connection has both ends in one of them ({listed})"
        raise NetlabError(f"--data: {text}", code="E-SURVEY-014")
    one_end, other_end = map(_end_with, hosts, surveys, data, reversed(data))
    return one_end, other_end


def _kind(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def _has(survey: HostSurvey, address: str) -> bool:
    return _holder(survey, address) is not None or address in survey.loopback


def _holder(survey: HostSurvey, address: str) -> Interface | None:
    """The interface that has an address, with or without a scope."""
    own, _, scope = address.partition("%")
    return next(
        (
            card
            for card in survey.interfaces
            if own in {each.own for each in (*card.addresses, *card.link_local)}
            and scope in ("", card.name)
        ),
        None,
    )


def _end_with(host: Host, surveyed: HostSurvey, address: str, peer: str) -> FoundEnd:
    """The end with an address, and the interface by which its packets to the peer leave.

    The address may be that of `lo` or of a dummy, which carry none of its packets.
    """
    holder = _holder(surveyed, address)
    if holder is not None and holder.driver != "dummy":
        return FoundEnd(surveyed, holder, without_scope(address))
    argv = ("sh", "-c", ROUTE, "route", peer, address)
    words = host.run(argv, check=False).stdout.split()
    leaves = words[words.index("dev") + 1] if "dev" in words[:-1] else ""
    interfaces = {i.name: i for i in surveyed.interfaces}
    if leaves not in ("", "lo", *interfaces):
        interfaces |= {i.name: i for i in survey(host, leaves).interfaces}
    if leaves in interfaces:
        return FoundEnd(surveyed, interfaces[leaves], address)
    text = f"{address} is not of a card, and no route leads from it to {peer}"
    raise NetlabError(f"{surveyed.name}: {text}", code="E-SURVEY-013")


def _listed(survey: HostSurvey) -> str:
    pairs = (
        f"{interface.name} {address.own}{'' if interface.up else ' (down)'}"
        for interface in survey.interfaces
        for address in (*interface.addresses, *interface.link_local)
    )
    return ", ".join((*pairs, *(f"lo {address}" for address in survey.loopback))) or "no address"


def _direct(ends: Ends) -> bool:
    one, other = ends
    return any(
        ours.own == one.address and theirs.own == other.address and ours.joins(theirs)
        for ours, theirs in product(
            (*one.interface.addresses, *one.interface.link_local),
            (*other.interface.addresses, *other.interface.link_local),
        )
    )


def _routed(hosts: tuple[Host, Host], surveys: tuple[HostSurvey, HostSurvey]) -> Ends | None:
    """The ends that packets between the SSH addresses of the hosts leave from."""
    ends = []
    for host, surveyed, other in zip(hosts, surveys, reversed(surveys), strict=True):
        argv = ("sh", "-c", ROUTE, "route", other.ssh_address)
        words = host.run(argv, check=False).stdout.split() if other.ssh_address else []
        if "src" not in words[:-1]:
            return None
        try:
            source = words[words.index("src") + 1]
            if not _has(surveyed, source):
                return None
            ends.append(_end_with(host, surveyed, source, other.ssh_address))
        except NetlabError:  # no route leads from lo
            return None
    return ends[0], ends[1]


def _check_routes(hosts: tuple[Host, Host], ends: Ends) -> None:
    """RunError if packets leave by other interfaces, which `netlab check` would refuse."""
    ways = zip(hosts, ends, reversed(ends), strict=True)
    asked = [
        partial(
            route_of, host, own.address, peer.address, own.interface.name, own.interface.stack.vrf
        )
        for host, own, peer in ways
        if not is_link_local(own.address)
    ]
    faults = [fault for done in together(asked, at_once=2) if (fault := done.result().fault)]
    if faults:
        raise RunError("; ".join(faults), reason="route", code="E-SURVEY-016")


def _connected(host: Host, ends: Ends, connector: Connector, *, routed: bool) -> FoundPath:
    """The path between two ends; its round trip is that of pings, if they come back."""
    card = ends[0].interface
    source = card.name if card.stack.vrf else scoped(ends[0].address, card.name)
    argv = ("sh", "-c", PING, "ping", source, scoped(ends[1].address, card.name), str(PINGS))
    ping = partial(host.run, argv, timeout_s=PING_TIMEOUT_S, check=False)
    calls: list[Callable[[], Any]] = [partial(connector.connect, ends), ping]
    connected, pinged = together(calls, at_once=2)
    times = _TIMES.search(pinged.result().stdout)
    if times and isinstance(error := connected.exception(), RunError):
        text = f"{error}; a ping comes back, so that a firewall may lie between"
        raise RunError(text, reason=error.reason, code="E-SURVEY-008") from None
    tcp: Connected = connected.result()
    rtt_ms = float(times[1]) if times else tcp.rtt_ms
    return FoundPath(ends, rtt_ms, routed, answers=bool(times), refused=tcp.refused)


def name_of(address: str, taken: Sequence[str] = ()) -> str:
    """A host's name in a study, from its SSH name or address.

    The first label of a host name, as letters, digits, ``-``; ``left`` and ``right`` for numeric
    addresses and for names that are alike.
    """
    numeric = ":" in address or address.replace(".", "").isdecimal()
    first = address.partition(".")[0] if not numeric else ""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in first)
    name = name.strip("-_")[:24]
    free = [word for word in (name, "left", "right") if word and word not in taken]
    return free[0]


def logins(hosts: Sequence[Mapping[str, Any]]) -> dict[str, StudyHost]:
    reached: dict[str, StudyHost] = {}
    for name, side in zip(hosts, ("LEFT", "RIGHT"), strict=True):
        keys = {key: value for key, value in name.items() if value is not None}
        host = validated(StudyHost, {"kind": "ssh", **keys}, side)
        assert host.address is not None  # the model refuses an ssh host without one
        reached[name_of(host.address, [*reached])] = host
    left, right = reached.values()
    apart = (left.address, left.port) != (right.address, right.port)
    text = "are the same host: a path has two ends"
    check(apart, "LEFT and RIGHT", left.address, text, "E-SURVEY-004")
    return reached


_HOST = re.compile(r"(?:(?P<user>[^@]+)@)?(?P<address>\[[^\]]+\]|[^@:\[\]]+)(?::(?P<port>\d+))?")


def login_of(text: str, identity_file: str | None = None) -> dict[str, str | int | None]:
    """Parts of an SSH name, as keys of a study's host."""
    user, at, address = text.rpartition("@")
    if address.count(":") > 1 and "[" not in address:  # IPv6 without a port
        text = f"{user}{at}[{address}]"
    parts = _HOST.fullmatch(text)
    if parts is None:
        raise BadInput("is not HOST, USER@HOST or HOST:PORT", value=text, code="E-SURVEY-009")
    return {
        "address": parts["address"].strip("[]"),
        "user": parts["user"],
        "port": int(parts["port"]) if parts["port"] else None,
        "identity_file": identity_file,
    }


def found_path(
    hosts: tuple[str, str], data: tuple[str, str] | None
) -> tuple[dict[str, StudyHost], list[dict[str, str]]]:
    """Two SSH hosts by name, and the ends of the first path that joins them, found by a look."""
    reached = logins([login_of(host) for host in hosts])
    first = surveyed(reached, data)[0]
    return reached, [
        {"host": end.host.name, "address": end.address, "interface": end.interface.name}
        for end in first.ends
    ]
