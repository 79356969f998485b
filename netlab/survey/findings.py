"""Conditions that would spoil a measurement, each with its reason and the command that helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from netlab.survey.surveyed import FoundEnd, FoundPath, HostSurvey, Interface

SLOW_EXIT_us = 50
"""Idle states that take longer to leave delay the first packets after a pause."""
CLOCKS_S = 2
"""Clocks read within the same seconds may differ by as much."""
OFFLOADS = {
    "tcp-segmentation-offload": "tso",
    "generic-segmentation-offload": "gso",
    "generic-receive-offload": "gro",
}
TIMEKEEPERS = {"chronyd", "ntpd", "systemd-timesyn", "ptp4l", "phc2sys"}
VIRTUAL_CARDS = {"ena", "gve", "hv_netvsc", "mana", "virtio_net", "vmxnet3", "xen_netfront", "vif"}
"""Drivers of cards of virtual machines, by the names that ethtool prints."""
LONGER_S = 60.0
"""Window offered where a burst may pass first: its credit lasts for seconds to minutes."""
FAST_Mbps = 10_000
"""From this speed on one queue or one small ring limits a path."""


@dataclass(frozen=True)
class Finding:
    """One finding: its host, the reason, and what helps; empty without it.

    ``command`` is a shell command for that host. ``knob`` does the same for the length of a run: an
    item of a tuning's ``knobs``, as YAML. ``explains`` is the bottleneck that it may cause.
    """

    host: str
    reason: str
    command: str = ""
    knob: str = ""
    explains: str = ""

    def lines(self) -> list[str]:
        lines = [f"{self.host}: {self.reason}"]
        lines += [f"  {self.command}"] if self.command else []
        return [*lines, f"  in a tuning: {self.knob}"] if self.knob else lines


def findings(paths: tuple[FoundPath, ...]) -> tuple[Finding, ...]:
    left, right = (end.host for end in paths[0].ends)
    faults = [*_host(left), *_host(right), *_clocks(left, right)]
    for path in paths:
        for end in path.ends:
            faults += _interface(end.host, end.interface, path)
            faults += _firewall(end)
        faults += _pair(path)
    return tuple(dict.fromkeys(faults))


def _host(host: HostSurvey) -> Iterator[Finding]:
    find = partial(Finding, host.name)
    slow = [name for name in host.governors if name != "performance"]
    if slow:
        yield find(
            f"the governor of {len(slow)} of {len(host.governors)} CPUs is {slow[0]}: their "
            "frequency follows the load, and goodput follows it",
            "cpupower frequency-set -g performance",
            "{kind: governor, value: performance}",
            explains="CPU",
        )
    if host.idle_us > SLOW_EXIT_us:
        yield find(
            f"an idle CPU takes up to {host.idle_us} us to wake: the first packets after a pause "
            "wait for it",
            f"cpupower idle-set -D {SLOW_EXIT_us}",
        )
    if "irqbalance" in host.services:
        yield find(
            "irqbalance moves interrupts to other CPUs during a run, and repeats differ",
            "systemctl stop irqbalance",
            explains="CPU",
        )


def _clocks(left: HostSurvey, right: HostSurvey) -> Iterator[Finding]:
    for host in (left, right):
        if not host.synchronised and TIMEKEEPERS.isdisjoint(host.services):
            yield Finding(
                host.name,
                "nothing synchronises its clock: times of its records cannot be compared with "
                "those of other hosts",
                "timedatectl set-ntp true",
            )
    if left.clock_s is not None and right.clock_s is not None:
        apart_s = abs(left.clock_s - right.clock_s)
        if apart_s > CLOCKS_S:
            yield Finding(f"{left.name}, {right.name}", f"their clocks are {apart_s} s apart")


def _interface(host: HostSurvey, card: Interface, path: FoundPath) -> Iterator[Finding]:
    find = partial(Finding, host.name)
    fast = (card.speed_Mbps or 0) >= FAST_Mbps
    if card.driver in VIRTUAL_CARDS:
        yield find(
            f"{card.name} is the card of a virtual machine ({card.driver}): where its network lets "
            f"a burst pass first, timing.seconds of {LONGER_S:.0f} shows the rate that stays; "
            "after a first run netlab check names the burst and the times that leave it out",
            explains="unsteady",
        )
    if card.duplex == "half":
        yield find(
            f"{card.name} is half duplex: it cannot send and receive at the same time",
            f"ethtool -s {card.name} autoneg on",
        )
    if card.bus and card.bus_max and card.bus.bandwidth_Mbps < card.bus_max.bandwidth_Mbps:
        yield find(
            f"{card.name} has {card.bus.name} of the {card.bus_max.name} that the card can use: "
            "put it into another slot",
            f"lspci -vv -s {card.bus_address} | grep LnkSta",
            explains="bus",
        )
    if fast and card.ring and card.ring_max and card.ring < card.ring_max:
        yield find(
            f"{card.name} has a receive ring of {card.ring} packets, the card allows "
            f"{card.ring_max}: bursts overflow it",
            f"ethtool -G {card.name} rx {card.ring_max}",
            f"{{kind: ring, name: rx, value: {card.ring_max}}}",
            explains="loss",
        )
    queues = min(host.cpus, card.channels_max or card.rx_queues)
    if fast and card.rx_queues < queues:
        yield find(
            f"{card.name} has {card.rx_queues} receive queues for {host.cpus} CPUs, the card "
            f"allows {card.channels_max}: streams share a queue and its CPU",
            f"ethtool -L {card.name} combined {queues}",
            f"{{kind: channels, name: combined, value: {queues}}}",
            explains="CPU",
        )
    if one_slave := card.stack.slave_text():
        yield find(
            f"{one_slave}: buffers and rates below are advised for one",
            explains="one slave of the bond",
        )
    yield from _interrupts(host, card)
    for key, short in OFFLOADS.items():
        if card.features.get(key) == "off":
            yield find(
                f"{card.name}: {key} is off, so each packet costs CPU time of its own",
                f"ethtool -K {card.name} {short} on",
                f'{{kind: feature, name: {short}, value: "on"}}',
                explains="CPU",
            )
    if card.pauses:
        yield find(
            f"{card.name} uses pause frames ({' and '.join(card.pauses)}): a slow receiver stops "
            "the switch or the sender, and loss does not show where it happens",
            f"ethtool -A {card.name} rx off tx off",
            explains="loss",
        )
    if card.drops:
        counted = ", ".join(f"{name} {count}" for name, count in sorted(card.drops.items()))
        yield find(
            f"{card.name} has lost packets since it was started ({counted}): see whether the "
            "counters grow during a run",
            f"ethtool -S {card.name}",
            explains="loss",
        )
    if host.congestion == "bbr" and card.qdiscs and "fq" not in card.qdiscs:
        yield find(
            f"bbr is the congestion control and {card.name} has no fq, which paces its packets",
            f"tc qdisc replace dev {card.name} root fq",
            f"{{kind: qdisc, value: {'mq fq' if 'mq' in card.qdiscs else 'fq'}}}",
            explains="loss",
        )
    for name, most_B in (("tcp_rmem", host.rmem_max_B), ("tcp_wmem", host.wmem_max_B)):
        # half of a buffer holds data, as tcp_adv_win_scale is by default
        if path.bdp_B is not None and most_B is not None and most_B // 2 < path.bdp_B:
            sizes = f"4096 131072 {max(4 * path.bdp_B, most_B)}"
            yield find(
                f"{name} gives a stream {most_B} B, of which half hold data; this path keeps "
                f"{path.bdp_B} B in flight (RTT {path.rtt_text})",
                f'sysctl -w net.ipv4.{name}="{sizes}"',
                f"{{kind: sysctl, name: net.ipv4.{name}, value: {sizes}}}",
                explains="window" if name == "tcp_rmem" else "send buffer",
            )


def _interrupts(host: HostSurvey, card: Interface) -> Iterator[Finding]:
    find = partial(Finding, host.name)
    local = cpus_of(card.local_cpus)
    serving = [(each, cpus_of(each.cpus)) for each in card.interrupts]
    far = [each for each, cpus in serving if local and cpus and not cpus & local]
    if far:
        yield find(
            f"{len(far)} interrupts of {card.name} are served by CPUs of another NUMA node than "
            f"the card's (CPUs {card.local_cpus})",
            f"echo {card.local_cpus} > /proc/irq/{far[0].number}/smp_affinity_list",
            "{kind: irq, name: affinity, value: local}",
            explains="CPU",
        )
    single = [cpus for _, cpus in serving if len(cpus) == 1]
    distinct = set().union(*single)
    if len(single) > 2 and len(distinct) * 2 <= min(len(single), host.cpus):
        yield find(
            f"{len(single)} interrupts of {card.name} are served by {len(distinct)} CPUs: flows "
            "collide there",
            f"grep {card.name} /proc/interrupts",
            "{kind: irq, name: affinity, value: spread}",
            explains="CPU",
        )


def _firewall(end: FoundEnd) -> Iterator[Finding]:
    find = partial(Finding, end.host.name)
    if end.host.filters or "firewalld" in end.host.services:
        yield find(
            "filters incoming packets: connections to the data ports may be refused, which "
            "netlab check tries",
            "nft list ruleset",
        )
    if end.host.conntrack:
        yield find(
            "tracks connections (conntrack), which costs CPU time for each packet",
            f"iptables -t raw -I PREROUTING -i {end.interface.name} -j CT --notrack",
            explains="CPU",
        )


def _pair(path: FoundPath) -> Iterator[Finding]:
    one, other = path.ends
    both = f"{one.host.name}, {other.host.name}"
    for sender, reason in path.refused.items():
        receiver = path.receiver_of(sender)
        yield Finding(
            receiver.host.name,
            f"no TCP connection from {sender} arrives at {receiver.address} ({reason}), and one "
            f"the other way passes: runs with {sender} as the sender would fail",
            "nft list ruleset",
        )
    if one.interface.mtu_B != other.interface.mtu_B:
        small = min(path.ends, key=lambda end: end.interface.mtu_B)
        large_B = max(end.interface.mtu_B for end in path.ends)
        yield Finding(
            small.host.name,
            f"{small.interface.name} has MTU {small.interface.mtu_B} B and the other end "
            f"{large_B} B: larger packets are lost without a message",
            f"ip link set dev {small.interface.name} mtu {large_B}",
            explains="loss",
        )
    speeds = [end.interface.speed_Mbps for end in path.ends]
    if None not in speeds and speeds[0] != speeds[1]:
        yield Finding(
            both, f"the cards have {speeds[0]} and {speeds[1]} Mb/s: the faster one fills a queue"
        )
    if any(end.is_management for end in path.ends):
        yield Finding(
            both,
            f"the path from {one.address} to {other.address} carries the SSH connections too: a "
            "full link delays them, and they count as foreign traffic",
        )


def cpus_of(text: str) -> set[int]:
    """CPUs of a list of the kernel, such as ``0-3,8``; empty for a text that is none."""
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            return set()
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus
