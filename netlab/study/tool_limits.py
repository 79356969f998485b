"""Limits of the other generators, checked when a study is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netlab import wings
from netlab.study.base import is_default
from netlab.study.factors import OF_GROUP, Factors, Levels
from netlab.study.groups import FILL_PACKET, UDP, Group, sends_datagrams
from netlab.study.run_options import Udp

OWN = "netlab"
"""netlab's own generator over TCP."""


@dataclass(frozen=True)
class Limits:
    """Limits of one tool."""

    streams: int | None = None
    record_length_B: int | None = None
    buffer_at_each_end: bool = True
    sets_buffers: bool = True
    sends: tuple[str, ...] = ("copy",)
    overhead_s: float = 1.0
    """Time of a run besides warm-up and window on a path without RTT: to start and end the tool,
    its margin, and half a second where it measures whole seconds only; measured on two CPUs."""


TOOL_LIMITS = {
    "iperf3": Limits(
        streams=128, record_length_B=1 << 20, buffer_at_each_end=False, sends=("copy", "sendfile")
    ),
    "iperf2": Limits(overhead_s=1.4),
    "nuttcp": Limits(streams=128, overhead_s=0.5),
    "neper": Limits(sets_buffers=False),
    "iperf3-udp": Limits(streams=128, buffer_at_each_end=False),
    "iperf2-udp": Limits(overhead_s=1.4),
}


def limits_of(generator: str) -> Limits:
    """Limits of a tool of netlab's, or of a wing's."""
    if generator in TOOL_LIMITS:
        return TOOL_LIMITS[generator]
    limits: Limits = wings.load(wings.generators()[generator]).limits
    return limits


def refusal(group: Group, streams: Iterable[int], congestion: str) -> str:
    """Reason why a group's generator cannot make its runs; empty when it can."""
    if group.record_length_B == FILL_PACKET and not sends_datagrams(group.generator):
        return "record_length_B: 0 is for datagrams; give 1 or more"
    if group.flows and group.generator != OWN:
        return f"flows: {group.generator} has none that are unequal; only netlab has"
    if group.cross_udp_Mbps and group.generator != OWN:
        return f"cross_udp_Mbps: {group.generator} has none beside it; only netlab has"
    if group.cross_udp_Mbps and group.records is not None:
        return "cross_udp_Mbps: is beside streams of a time; leave out records"
    if group.cross_udp_Mbps and group.force_loss_at_s is not None:
        return "cross_udp_Mbps: the forced loss could be one of its datagrams; give one of the two"
    if group.generator == OWN:
        return ""
    if sends_datagrams(group.generator):
        if group.record_length_B not in Udp.sizes_B and group.record_length_B != FILL_PACKET:
            least_B, most_B = Udp.sizes_B[0], Udp.sizes_B[-1]
            return (
                f"record_length_B: a datagram has {least_B} to {most_B} bytes, not "
                f"{group.record_length_B}; leave it out to fill the path's packet"
            )
        if congestion:
            return "congestion: udp has none"
    if group.generator == UDP:
        return ""
    name, limits = group.generator, limits_of(group.generator)
    if limits.streams is not None and max(streams) > limits.streams:
        return f"{name} runs at most {limits.streams} streams, not {max(streams)}"
    if limits.record_length_B is not None and group.record_length_B > limits.record_length_B:
        most = limits.record_length_B
        return f"{name} takes records of at most {most} B, not {group.record_length_B}"
    if not limits.buffer_at_each_end and group.receive_buffer_B not in (None, group.buffer_B):
        return f"{name} gives both ends one buffer; it takes no receive_buffer_B"
    if not limits.sets_buffers and (group.buffer_B or group.receive_buffer_B):
        return f"{name} takes no size of a buffer"
    if group.force_loss_at_s is not None:
        return f"{name} does not report when its streams start, so no loss can be timed"
    if "+" in congestion:
        return f"{name} gives all streams one congestion control, not {congestion!r}"
    return ""


def group_at(group: Group, of_run: Levels) -> Group:
    """A group without factors, with these levels in place of its options."""
    if not of_run and group.factors == Factors() and not group.exclude:
        return group
    own = {name: level for name, level in of_run if name in OF_GROUP}
    if sends_datagrams(str(own.get("generator", ""))) and is_default(group, "record_length_B"):
        own = {"record_length_B": FILL_PACKET, **own}
    return group.model_copy(update={**own, "factors": Factors(), "exclude": ()})
