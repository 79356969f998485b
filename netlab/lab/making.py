"""Create the parts of a lab: namespaces, keys, links and their settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from netlab.hosts.at_once import together
from netlab.lab import emulator, link, reaper, rootless, sshd, switch, task_group
from netlab.lab.namespaces import entry, inside, ip, tc, tool
from netlab.lab.topology import LabPath, Topology
from netlab.study import flows

MADE_AT_ONCE = 4
# In a namespace only an allowed algorithm can be the default; the last one always is.
CONGESTION = ("cubic", "reno")
SET_CONGESTION = r"""
for name do
  if echo "$name" > /proc/sys/net/ipv4/tcp_congestion_control; then exit 0; fi
done 2>/dev/null
exit 1
"""


# The kernel gives no socket one of the ports by which an emulator knows a flow.
FLOW_PORTS = f"{flows.PORTS.start}-{flows.PORTS.stop - 1}"
RESERVE_PORTS = 'echo "$1" > /proc/sys/net/ipv4/ip_local_reserved_ports'


def make(state: Path, plan: Topology, busy: int) -> None:
    lab_id = state.name
    names = {host: f"{reaper.PREFIX}{lab_id}-{host}" for host in plan.hosts}
    task_group.make_task_group(state, len(plan.hosts))
    if rootless.rootless():
        rootless.hold_namespaces(state, busy)
    switches = switch.namespaces(lab_id, plan.paths)
    added = [
        partial(tool, (*entry(name), "ip", "netns", "add", name), busy=busy)
        for name in (*names.values(), *switches.values())
    ]
    _all(partial(sshd.prepare, state, plan.hosts, busy), *added)
    for path in plan.paths:
        first, second = path.ends
        if path.emulator is not None:
            here = (names[first.host], first.interface)
            peer = (names[second.host], second.interface)
            if path.also:
                here = switch.make(path, switches[path.name], names, busy)
            emulator.start(state, path.name, (here, peer), path.emulator)
            continue
        tool(pair_argv(path, names), host=first.host, busy=busy)
    ipv6 = os.path.isdir("/proc/sys/net/ipv6")
    for path in plan.paths:
        if path.also:
            switch.set_up(path, switches[path.name], ipv6=ipv6, busy=busy)

    def set_up(host: str) -> None:
        for argv, lines in set_up_commands(host, names[host], plan, ipv6=ipv6):
            tool(argv, lines=lines, host=host, busy=busy)

    _all(*(partial(set_up, host) for host in plan.hosts))
    waits: list[Callable[[], None]] = []
    # after all are set up: a link is up when both of its ends are
    for host in plan.hosts:
        interfaces = [end.interface for end, _ in plan.ends(host)]
        waits.append(partial(link.wait_until_up, names[host], interfaces, host=host, busy=busy))
    _all(*waits)


def _all(*calls: Callable[[], object]) -> None:
    for done in together(calls, at_once=MADE_AT_ONCE):
        done.result()


def pair_argv(path: LabPath, names: dict[str, str]) -> tuple[str, ...]:
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
    ends = plan.ends(host)
    yield inside(namespace, ("sh", "-c", SET_CONGESTION, "set", *CONGESTION)), []
    if any(path.knows_flows for path in plan.paths):
        yield inside(namespace, ("sh", "-c", RESERVE_PORTS, "reserve", FLOW_PORTS)), []
    lines = ["link set dev lo up"]
    for end, settings in ends:
        argv = settings.settings_argv(end.interface, reserved=not rootless.rootless())
        yield inside(namespace, argv), []
        lines += [*settings.ip_lines(end.interface), *end.ip_lines(ipv6=ipv6)]
    for path in plan.paths:
        lines += switch.ip_lines(path, host, ipv6=ipv6)
    yield ip(namespace, "-batch", "-"), lines
    if shapes := plan.tc_lines(host):
        yield tc(namespace, "-batch", "-"), shapes
