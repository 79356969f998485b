"""Limits of the other generators, checked when a study is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.study.groups import Group

OWN = "netlab"
"""netlab's own generator; every other one is a tool installed on the hosts."""


@dataclass(frozen=True)
class Limits:
    """Limits of one tool."""

    streams: int | None = None
    record_length_B: int | None = None
    buffer_at_each_end: bool = True


LIMITS = {
    "iperf3": Limits(streams=128, record_length_B=1 << 20, buffer_at_each_end=False),
    "iperf2": Limits(),
    "nuttcp": Limits(streams=128),
}


def refusal(group: Group, streams: Iterable[int], congestion: str) -> str:
    """Reason why a group's generator cannot make its runs; empty when it can."""
    if group.generator == OWN:
        return ""
    name, limits = group.generator, LIMITS[group.generator]
    if limits.streams is not None and max(streams) > limits.streams:
        return f"{name} runs at most {limits.streams} streams, not {max(streams)}"
    if limits.record_length_B is not None and group.record_length_B > limits.record_length_B:
        most = limits.record_length_B
        return f"{name} takes records of at most {most} B, not {group.record_length_B}"
    if not limits.buffer_at_each_end and group.receive_buffer_B not in (None, group.buffer_B):
        return f"{name} gives both ends one buffer; it takes no receive_buffer_B"
    if group.force_loss_at_s is not None:
        return f"{name} does not report when its streams start, so no loss can be timed"
    if "+" in congestion:
        return f"{name} gives all streams one congestion control, not {congestion!r}"
    return ""
