"""Checks of the options that the runs of a group take, at one combination of levels."""

from __future__ import annotations

import math

from netlab.study import flows
from netlab.study.base import is_default
from netlab.study.groups import UDP, Group, sends_datagrams
from netlab.study.model import StudyFields, study_at
from netlab.study.run_options import Policy, Socket, Udp
from netlab.study.tool_limits import OWN, limits_of, refusal
from netlab.units import IPV4_HEADER_B, UDP_HEADER_B


def check_link(study: StudyFields, path: str) -> None:
    """Refuse a link that contradicts the buses of its path."""
    link = study.paths[path].link
    if link is None:
        return
    where, bus_MBps = f"paths.{path}.link", study.bus_MBps(path)
    if link.read_burst_B is not None and bus_MBps is None:
        raise ValueError(f"{where}.read_burst_B: both hosts need a bus, whose share it is")
    # One token bucket before several queues stalls when one of them is full (Linux 6.18).
    if link.queues > 1 and (link.rate_Mbps is not None or bus_MBps is not None):
        raise ValueError(f"{where}.queues: a link with a rate or a bus has one pair of queues")


def check_forced_loss(study: StudyFields, group: Group) -> None:
    """Refuse a forced loss that the path or the duration of the runs does not allow."""
    if group.force_loss_at_s is None:
        return
    where = f"groups: {group.name}: force_loss_at_s"
    link = study.paths[group.path].link
    if link is None or link.emulator is None:
        raise ValueError(f"{where}: path {group.path!r} has no emulator to force a loss")
    if link.emulator.with_ == "netem":
        raise ValueError(f"{where}: netem of path {group.path!r} cannot force a loss")
    if link.emulator.second is not None:
        raise ValueError(f"{where}: path {group.path!r} has two links; a forced loss needs one")
    if group.records is not None:
        return
    quick = group.quick.over(study.quick or study.timing) if group.quick else study.quick
    for timing in filter(None, (study_at(study, group, ()).timing, quick)):
        over_s = timing.warmup_at(study.longest_rtt_s(group)) + timing.seconds
        if group.force_loss_at_s >= over_s:
            raise ValueError(f"{where}: a run is over after {over_s:g} s")


def check_run(study: StudyFields, group: Group) -> None:
    """Refuse options that the engine or the group's generator does not support."""
    where = f"groups: {group.name}"
    if study.engine == "plain" and (study.send, study.receive) != ("copy", "copy"):
        raise ValueError("engine: plain supports send copy and receive copy only")
    if study.engine == "plain" and study.policy != Policy():
        raise ValueError("policy: the plain engine has none; leave it out")
    if study.engine == "epoll" and study.policy.read_delay is True:
        raise ValueError("policy.read_delay: the epoll engine has none")
    pinned = study.socket.cpus_sender or study.socket.cpus_receiver
    if study.policy.spread is True and (pinned or study.socket.follow_incoming_cpu):
        raise ValueError("policy.spread: excludes CPU lists and follow_incoming_cpu")
    if group.records is not None and study.latency.probe != "none":
        raise ValueError(f"latency: a probe needs a window, and {where} has records")
    least_ms = study.timing.seconds * 1e3 / study.latency.most
    if study.latency.probe != "none" and study.latency.interval_ms < least_ms:
        reason = f"a window of {study.timing.seconds:g} s needs {math.ceil(least_ms)} or more"
        raise ValueError(f"latency.interval_ms: {reason}")
    if study.engine in ("plain", "blocking") and study.threads:
        raise ValueError(f"threads: the {study.engine} engine always has one per stream")
    if why := refusal(group, group.streams or study.streams, study.congestion_of(group)):
        raise ValueError(f"{where}: {why}")
    if sends_datagrams(group.generator):
        _check_datagrams(study, group)
        return
    if not is_default(study, "udp"):
        reason = f"is for the generator udp, and {where} takes {group.generator}"
        raise ValueError(f"udp: {reason}")
    if group.generator == OWN:
        _check_flows(study, group)
        _check_cross(study, group)
        return
    for name in ("engine", "threads", "send", "socket", "policy", "latency"):
        fits = name == "send" and study.send in limits_of(group.generator).sends
        if not (fits or is_default(study, name)):
            reason = f"is for netlab's own generator, and {where} takes {group.generator}"
            raise ValueError(f"{name}: {reason}")


def _check_flows(study: StudyFields, group: Group) -> None:
    """Refuse flows that do not fit the streams, the congestion controls or the times."""
    if not group.flows:
        return
    timed = flows.together_s(group.flows) is not None
    reason = _rtt_refusal(study, group) if flows.has_rtt(group.flows) else ""
    if flows.has_spans(group.flows):
        reason = reason or _span_refusal(study, group)
    if flows.has_hosts(group.flows):
        reason = reason or _host_refusal(study, group)
    if timed and (group.records is not None or study.engine == "plain"):
        reason = "have times, which runs of records and the plain engine lack"
    quick = group.quick.over(study.quick or study.timing) if group.quick else study.quick
    for timing in filter(None, (study.timing, quick)):
        warmup_s = timing.warmup_at(study.longest_rtt_s(group))
        reason = reason or flows.refusal(
            group.flows,
            streams=group.streams or study.streams,
            congestion=group.congestion or study.congestion or "",
            of_group=group.congestion or "",
            warmup_s=warmup_s,
            over_s=warmup_s + timing.seconds,
            interval_s=timing.interval_ms / 1e3,
        )
    if reason:
        raise ValueError(f"groups: {group.name}: flows: {reason}")


def _rtt_refusal(study: StudyFields, group: Group) -> str:
    """Reason why flows cannot have round trips of their own; empty when they can."""
    path = study.paths[group.path]
    if path.link is None or path.link.emulator is None:
        return f"rtt_ms: path {group.path!r} has no emulator to delay them"
    if path.link.emulator.with_ == "netem":
        return f"rtt_ms: netem of path {group.path!r} delays all alike; leave out with"
    if path.link.emulator.second is not None:
        return f"rtt_ms: path {group.path!r} has two links, whose round trips flows have by `over`"
    return _ports_refusal(study, group, "rtt_ms")


def _span_refusal(study: StudyFields, group: Group) -> str:
    """Reason why flows cannot pass one of two links alone; empty when they can."""
    link = study.paths[group.path].link
    if link is None or link.emulator is None or link.emulator.second is None:
        return f"over: the emulator of path {group.path!r} has no second link; give it `second`"
    if group.direction == "<->":
        return "over: flows pass links of their own in one direction; give direction: ->"
    return _ports_refusal(study, group, "over")


def _host_refusal(study: StudyFields, group: Group) -> str:
    """Reason why flows cannot be of several hosts; empty when they can."""
    sender, first = group.sender, study.paths[group.path].ends[0].host
    if sender != first:
        return f"from: hosts of `also` send as {first!r} does, to {sender!r}; give sender: {first}"
    if all(flow.from_ not in (None, sender) for flow in group.flows):
        return f"from: one at least is of the sender, {sender!r}; leave out its from"
    if group.direction == "<->":
        return "from: several hosts send in one direction; give direction: ->"
    if group.records is not None:
        return "from: flows of several hosts are of a time; leave out records"
    if group.cross_udp_Mbps:
        return "from: UDP beside the streams is of one host; leave out cross_udp_Mbps"
    if study.latency.probe != "none":
        return "from: a probe of latency is of one host; leave out latency"
    default = group.congestion or study.congestion or ""
    if "+" in default and any(flow.congestion is None for flow in group.flows):
        return f"from: give each its congestion; {default!r} is dealt to streams of one host"
    for host in flows.hosts(group.flows, sender):
        if all(flow.end_s is not None for flow in flows.sent_by(group.flows, sender, host)):
            return f"from: one of {host!r} at least lasts as long as the run; leave out its end_s"
    return ""


def _ports_refusal(study: StudyFields, group: Group, option: str) -> str:
    """Reason why the ports that name flows are not free; empty when they are."""
    first, last = flows.PORTS[0], flows.PORTS[-1]
    for end in study.paths[group.path].ends:
        if any(port in flows.PORTS for port in end.ports or ()):
            return f"{option}: ports {first} to {last} name the flows; give {end.host} another"
    return ""


def _check_cross(study: StudyFields, group: Group) -> None:
    """Refuse UDP beside the streams that exceeds the MTU, or has no port at the receiver."""
    if not group.cross_udp_Mbps:
        return
    where = f"groups: {group.name}: "
    _check_packet(study, group, group.cross_udp_B, f"{where}cross_udp_B", "give less")
    for end in study.paths[group.path].ends:
        if end.host != group.sender and end.ports and len(end.ports) < 2:
            reason = f"{end.host} needs a second port for it, such as `port: 5201-5202`"
            raise ValueError(f"{where}cross_udp_Mbps: {reason}")


def _check_packet(
    study: StudyFields, group: Group, datagram_B: int | None, where: str, hint: str
) -> None:
    """Refuse datagrams whose packets exceed an MTU of the group."""
    if not datagram_B:
        return
    packet_B = datagram_B + UDP_HEADER_B + IPV4_HEADER_B
    least_B = min((mtu_B for _, mtu_B, _ in study.levels(group) if mtu_B), default=packet_B)
    if packet_B > least_B:
        reason = f"a packet of {packet_B} B exceeds the MTU of {least_B} B"
        raise ValueError(f"{where}: {reason}; {hint}")


def _check_datagrams(study: StudyFields, group: Group) -> None:
    """Refuse options that datagrams do not have, a missing rate, and what exceeds the MTU."""
    where = f"groups: {group.name}"
    for name in ("engine", "send", "receive", "policy", "trace"):
        if not is_default(study, name):
            raise ValueError(f"{name}: is for TCP, and {where} takes udp")
    if study.socket.mss_B or study.socket.nodelay:
        raise ValueError(f"socket: mss_B and nodelay are for TCP, and {where} takes udp")
    if study.socket.pacing_MBps is None:
        raise ValueError(
            f"socket.pacing_MBps: {where} takes udp, which needs a rate: MB/s of payload of "
            "each stream, such as `socket: {pacing_MBps: 50}`"
        )
    pacing = Socket(pacing_MBps=study.socket.pacing_MBps)
    both = study.udp.gso and group.generator == "iperf3-udp"
    joined = Udp(gso=both, gro=both)
    if group.generator != UDP and (study.socket != pacing or study.udp != joined):
        raise ValueError(
            f"{where} takes {group.generator}, which has a rate alone, and iperf3 gso with gro"
        )
    if group.generator != UDP and study.latency.probe != "none":
        raise ValueError(f"latency: {where} takes {group.generator}, which has no probe")
    if study.udp.gso and study.udp.fragment:
        raise ValueError("udp: gso and fragment exclude each other")
    if not study.udp.fragment:
        size_B, hint = group.record_length_B, "see `udp.fragment`"
        _check_packet(study, group, size_B, f"{where}: record_length_B", hint)
