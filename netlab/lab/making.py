"""Create the parts of a lab: namespaces, keys, links and their settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from netlab.hosts.together import together
from netlab.lab import emulator, link, reaper, sshd, taskgroup, userns
from netlab.lab.namespaces import entry, inside, ip, tc, tool
from netlab.lab.topology import LabPath, Topology

MADE_AT_ONCE = 4
# In a namespace only an allowed algorithm can be the default; the last one always is.
CONGESTION = ("cubic", "reno")
SET_CONGESTION = r"""
for name do
  if echo "$name" > /proc/sys/net/ipv4/tcp_congestion_control; then exit 0; fi
done 2>/dev/null
exit 1
"""


def make(state: Path, plan: Topology, busy: int) -> None:
    """Create everything that a lab consists of."""
    lab_id = state.name
    names = {host: f"{reaper.PREFIX}{lab_id}-{host}" for host in plan.hosts}
    taskgroup.make(state, len(plan.hosts))
    if userns.is_needed():
        userns.start(state, busy)
    added = [
        partial(tool, (*entry(name), "ip", "netns", "add", name), busy=busy)
        for name in names.values()
    ]
    _all(partial(sshd.prepare, state, plan.hosts, busy), *added)
    for path in plan.paths:
        first, second = path.ends
        if path.emulator is not None:
            here = (names[first.host], first.interface)
            there = (names[second.host], second.interface)
            emulator.start(state, path.name, (here, there), path.emulator)
            continue
        tool(pair_argv(path, names), host=first.host, busy=busy)
    _all(*(partial(_set_up, host, names[host], plan, busy) for host in plan.hosts))
    # after all are set up: a link is up when both of its ends are
    _all(*(partial(_wait_for_links, host, names[host], plan, busy) for host in plan.hosts))


def _all(*calls: Callable[[], object]) -> None:
    for done in together(calls, at_once=MADE_AT_ONCE):
        done.result()


def pair_argv(path: LabPath, names: dict[str, str]) -> tuple[str, ...]:
    """Return the command that adds the veth pair of a path."""
    first, second = path.ends
    words = path.settings.add_words
    # created in the hosts' namespaces: the machine's own never has the pair
    line = (
        f"link add {first.interface}{words} type veth "
        f"peer name {second.interface} netns {names[second.host]}{words}"
    )
    return ip(names[first.host], *line.split())


def set_up_commands(
    host: str, namespace: str, plan: Topology, *, ipv6: bool
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the commands that set up the interfaces of a host, with the input of each."""
    ends = plan.ends(host)
    yield inside(namespace, ("sh", "-c", SET_CONGESTION, "set", *CONGESTION)), []
    for end, settings in ends:
        argv = settings.settings_argv(end.interface, reserved=not userns.is_needed())
        yield inside(namespace, argv), []
    lines = ["link set dev lo up"]
    for end, settings in ends:
        lines += settings.ip_lines(end.interface)
        lines += end.ip_lines(ipv6=ipv6)
    yield ip(namespace, "-batch", "-"), lines
    shapes = plan.tc_lines(host)
    if shapes:
        yield tc(namespace, "-batch", "-"), shapes


def _set_up(host: str, namespace: str, plan: Topology, busy: int) -> None:
    ipv6 = os.path.isdir("/proc/sys/net/ipv6")
    for argv, lines in set_up_commands(host, namespace, plan, ipv6=ipv6):
        tool(argv, lines=lines, host=host, busy=busy)


def _wait_for_links(host: str, namespace: str, plan: Topology, busy: int) -> None:
    interfaces = [end.interface for end, _ in plan.ends(host)]
    link.wait_until_up(namespace, interfaces, host=host, busy=busy)
