"""The switch of a lab path: a namespace that joins several senders to one emulated link.

Each sender has a veth pair to it, and the emulator's device of the first end is there, so that all
share its rate and its queue. It routes, because that device has no Ethernet header. Neighbours are
fixed: no packet waits for an address to be resolved.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from netlab.lab import reaper
from netlab.lab.namespaces import inside, ip, tool
from netlab.lab.topology import LabEnd, LabPath

DEVICE = "link"
"""The emulator's device in the switch."""

MOST_MTU_B = 65_535
"""Of the switch's own interfaces: hosts have the MTU of the path."""

QUEUE_PACKETS = 10_000
"""Before the emulator, which reads what comes: senders beyond it feel no full device."""

FORWARD = r"""
set -e
echo 1 > /proc/sys/net/ipv4/ip_forward
for c in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > "$c"; done
if [ -e /proc/sys/net/ipv6/conf/all/forwarding ]; then
  for c in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 0 > "$c"; done
  echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
fi
"""


def namespaces(lab_id: str, paths: Iterable[LabPath]) -> dict[str, str]:
    """Namespace of the switch of each path that has one; no host has a plus sign in its name."""
    switched = (path.name for path in paths if path.also)
    return {name: f"{reaper.PREFIX}{lab_id}-+{number}" for number, name in enumerate(switched)}


def _port(at: int) -> str:
    return f"port{at}"


def _mac(at: int, side: int) -> str:
    """Ethernet address of a sender (0), or of the port that it has at the switch (1)."""
    return f"02:6e:6c:00:{side:02x}:{at:02x}"


def _addresses(end: LabEnd, *, ipv6: bool) -> list[str]:
    return [a for a in end.addresses if ipv6 or ipaddress.ip_address(a).version == 4]


def make(path: LabPath, switch: str, names: dict[str, str], busy: int) -> tuple[str, str]:
    """Join each sender to the switch; return namespace and device of the shared link there."""
    for at, end in enumerate(path.behind_switch):
        line = (
            f"link add {end.interface} address {_mac(at, 0)} type veth "
            f"peer name {_port(at)} netns {switch} address {_mac(at, 1)}"
        )
        tool(ip(names[end.host], *line.split()), host=end.host, busy=busy)
    return switch, DEVICE


def set_up(path: LabPath, switch: str, *, ipv6: bool, busy: int) -> None:
    """Routes of the switch, once the emulator has made its device there."""
    tool(inside(switch, ("sh", "-c", FORWARD)), busy=busy)
    lines = [
        "link set dev lo up",
        f"link set dev {DEVICE} mtu {MOST_MTU_B} txqueuelen {QUEUE_PACKETS} up",
        *(f"route add {a} dev {DEVICE}" for a in _addresses(path.ends[1], ipv6=ipv6)),
    ]
    for at, end in enumerate(path.behind_switch):
        lines.append(f"link set dev {_port(at)} mtu {MOST_MTU_B} up")
        for address in _addresses(end, ipv6=ipv6):
            lines.append(f"route add {address} dev {_port(at)}")
            lines.append(
                f"neigh replace {address} lladdr {_mac(at, 0)} dev {_port(at)} nud permanent"
            )
    tool(ip(switch, "-batch", "-"), lines=lines, busy=busy)


def ip_lines(path: LabPath, host: str, *, ipv6: bool) -> list[str]:
    """Lines of a host of the path: its neighbour, or the receiver's ways to further senders."""
    lines = []
    for at, end in enumerate(path.behind_switch):
        if end.host == host:
            lines += [
                f"neigh replace {peer} lladdr {_mac(at, 1)} dev {end.interface} nud permanent"
                for peer in _addresses(path.ends[1], ipv6=ipv6)
            ]
    if path.ends[1].host == host:
        device = path.ends[1].interface
        for end in path.also:
            lines += [f"route add {a} dev {device}" for a in _addresses(end, ipv6=ipv6)]
    return lines
