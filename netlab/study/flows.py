"""Flows of a run that are unequal: their stack, pace, round trip, links, start and end."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from pydantic import SerializerFunctionWrapHandler, ValidationError, model_serializer

from netlab.errors import BadInput
from netlab.files.recorded_columns import column_json
from netlab.study.base import Name, Sparse, StackName
from netlab.study.factors import PacingLevel
from netlab.study.links import Milliseconds
from netlab.tuning.knobs import key

MOST = 8
"""Entries of a list that an agent deals to its streams."""

PORTS = range(10_240, 32_768)
"""Source ports of flows with a round trip or links of their own, by which an emulator knows them;
below those that a kernel chooses, and reserved in a lab with such flows."""

BOTH, FIRST, SECOND = "both", "first", "second"
HOPS = (FIRST, SECOND)
"""Links of a path of two, from its first end on."""

LEAST_INTERVALS = 2
"""Samples within the time that all flows are on, at least: of these one is whole."""


class PlannedFlow(Sparse, title="`groups.flows`"):
    """Flows that are alike, all connected before the run; times are from its start.

    The warm-up is part of it. At its end a flow gives its socket no more bytes; those in its buffer
    follow.
    """

    count: int = key("Number of flows.", 16, 1, ge=1, le=10_000)
    congestion: StackName | None = key("Congestion control, in place of the group's.", "bbr", None)
    pacing_MBps: PacingLevel | None = key(
        "Pacing rate of each, in place of `socket.pacing_MBps`; 0: not paced.", 5.0, None
    )
    rtt_ms: Milliseconds | None = key(
        "Round trip of each without queueing, in place of the path's emulator's; of all flows or "
        "of none.",
        50.0,
        None,
    )
    over: Literal["both", "first", "second"] = key(
        "Links that each passes, of a path whose emulator has a `second` one.", "first", BOTH
    )
    from_: Name | None = key(
        "Host that sends, one of the path's `also`; left out: the group's sender.",
        "third",
        None,
        alias="from",
    )
    start_s: float = key(
        "Time of the first byte after the start of the run, s.",
        2.0,
        0.0,
        ge=0,
        le=3600,
        allow_inf_nan=False,
    )
    end_s: float | None = key(
        "Time of the last byte, likewise; left out: that of the run.",
        8.0,
        None,
        gt=0,
        le=3600,
        allow_inf_nan=False,
    )

    @model_serializer(mode="wrap")
    def _only_given(self, serialize: SerializerFunctionWrapHandler) -> dict:
        fields = type(self).model_fields
        # a keyword of Python
        return {
            name.rstrip("_"): value
            for name, value in serialize(self).items()
            if value != fields[name if name in fields else f"{name}_"].default
        }


def total(flows: Sequence[PlannedFlow]) -> int:
    """Number of flows."""
    return sum(flow.count for flow in flows)


def each(flows: Sequence[PlannedFlow]) -> list[PlannedFlow]:
    """The flow of each stream until they are dealt anew."""
    return [flow for flow in flows for _ in range(flow.count)]


def congestion(flows: Sequence[PlannedFlow], default: str) -> str:
    """Congestion controls as they are dealt to the streams; the default where no flow names one."""
    names = [(flow.congestion or default, flow.count) for flow in flows]
    joined = [(name, sum(n for _, n in part)) for name, part in groupby(names, lambda one: one[0])]
    if len(joined) < 2:
        return joined[0][0] if joined else default
    return "+".join(f"{count}*{name}" if count > 1 else name for name, count in joined)


def dealt(flows: Sequence[PlannedFlow], numbers: Iterable[float]) -> str:
    """A number of each entry as the agents take them; empty where all are 0."""
    whole = [round(number) for number in numbers]
    if not any(whole):
        return ""
    return ",".join(f"{flow.count}*{n}" for flow, n in zip(flows, whole, strict=True))


def has_rtt(flows: Sequence[PlannedFlow]) -> bool:
    """True if the flows have round trips of their own."""
    return any(flow.rtt_ms is not None for flow in flows)


def has_spans(flows: Sequence[PlannedFlow]) -> bool:
    """True if flows pass one of two links alone."""
    return any(flow.over != BOTH for flow in flows)


def has_hosts(flows: Sequence[PlannedFlow]) -> bool:
    """True if hosts besides the group's sender send some of the flows."""
    return any(flow.from_ is not None for flow in flows)


def hosts(flows: Sequence[PlannedFlow], sender: str) -> tuple[str, ...]:
    """Hosts that send the flows of a group, its sender first."""
    return tuple(dict.fromkeys((sender, *(flow.from_ for flow in flows if flow.from_))))


def sent_by(flows: Sequence[PlannedFlow], sender: str, host: str) -> tuple[PlannedFlow, ...]:
    """The flows of a group that a host sends."""
    return tuple(flow for flow in flows if (flow.from_ or sender) == host)


def streams_sent_by(
    flows: Sequence[PlannedFlow], streams: int, sender: str, host: str
) -> tuple[int, ...]:
    """Those of the streams of a run of a group that a host sends."""
    names = [flow.from_ or sender for flow in each(flows)] or [sender]
    return tuple(at for at in range(streams) if names[at % len(names)] == host)


def with_hosts(flows: Sequence[PlannedFlow], sender: str) -> tuple[PlannedFlow, ...]:
    """The flows of a group, each with its host where there are several."""
    if not has_hosts(flows):
        return tuple(flows)
    return tuple(flow.model_copy(update={"from_": flow.from_ or sender}) for flow in flows)


def longest_rtt_s(flows: Sequence[PlannedFlow], path_s: float) -> float:
    """Longest round trip of the flows, s, where those without one have the path's."""
    own = [path_s if flow.rtt_ms is None else flow.rtt_ms / 1e3 for flow in flows]
    return max(own, default=path_s)


def port_span(flows: Sequence[PlannedFlow]) -> int:
    """Source ports of each entry."""
    return len(PORTS) // len(flows)


def source_ports(flows: Sequence[PlannedFlow]) -> list[int]:
    """First source port of each entry; empty where flows have the round trip and links of all."""
    if not (has_rtt(flows) or has_spans(flows)):
        return []
    return [PORTS.start + at * port_span(flows) for at in range(len(flows))]


def delays(flows: Sequence[PlannedFlow], part: float) -> str:
    """That part of each round trip by source ports, as an emulator takes it; ``-`` without any."""
    entries = (
        f"{first}-{first + port_span(flows) - 1}:{round(1000 * part * (flow.rtt_ms or 0))}"
        for first, flow in zip(source_ports(flows), flows, strict=False)
    )
    return ",".join(entries) or "-"


def ports_over(flows: Sequence[PlannedFlow], hop: str) -> str:
    """Source ports of flows over one link alone, as an emulator takes them; ``-`` without any."""
    entries = (
        f"{first}-{first + port_span(flows) - 1}"
        for first, flow in zip(source_ports(flows), flows, strict=False)
        if flow.over == hop
    )
    return ",".join(entries) or "-"


def together_s(flows: Sequence[PlannedFlow]) -> tuple[float, float] | None:
    """Time since the start in which all flows are on; None where they are all the time."""
    if not any(flow.start_s or flow.end_s for flow in flows):
        return None
    return max(f.start_s for f in flows), min(f.end_s or math.inf for f in flows)


def needed_s(flows: Sequence[PlannedFlow], interval_s: float) -> float | None:
    """Time that a run of the flows lasts at least; None where they have no times."""
    if (together := together_s(flows)) is None:
        return None
    last_s = max(max(flow.start_s, flow.end_s or 0.0) for flow in flows)
    return max(last_s, together[0] + LEAST_INTERVALS * interval_s)


def as_text(flows: Sequence[PlannedFlow]) -> str:
    """The flows as the column ``flows`` of results has them; empty without any."""
    entries = [flow.model_dump(mode="json") for flow in flows]
    return json.dumps(entries, separators=(",", ":")) if flows else ""


def from_text(text: str) -> tuple[PlannedFlow, ...]:
    """The flows of the column ``flows``."""
    try:
        return tuple(map(PlannedFlow.model_validate, column_json(text, "flows")))
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False)[0]
        key, message = ".".join(map(str, first["loc"])), first["msg"]
        where = "column flows of the results"
        raise BadInput(message, where=where, key=key, code="E-STUDY-143") from None


def refusal(
    flows: Sequence[PlannedFlow],
    *,
    streams: Sequence[int],
    congestion: str,
    of_group: str,
    warmup_s: float,
    over_s: float,
    interval_s: float,
) -> str:
    """Reason why runs cannot have these flows; empty when they can.

    ``congestion`` is that of flows that name none, ``of_group`` the one that their group names
    itself, and a run is over after ``over_s``.
    """
    if len(flows) > MOST:
        return f"at most {MOST} entries, not {len(flows)}; `count` says how many flows one has"
    if other := [number for number in streams if number % total(flows)]:
        return f"are {total(flows)}, and streams {other[0]}; give `streams: [{total(flows)}]`"
    if has_rtt(flows) and any(flow.rtt_ms is None for flow in flows):
        return "some have no rtt_ms; give each one, or none"
    if source_ports(flows) and (most := max(streams)) > port_span(flows):
        which = f"{len(flows)} have an rtt_ms or over"
        return f"at most {port_span(flows)} streams where {which}, not {most}"
    named = [flow.congestion for flow in flows if flow.congestion]
    if named and len(named) == len(flows) and of_group:
        return f"all name their congestion control, so that {of_group!r} is of none; leave it out"
    if named and len(named) < len(flows) and (not congestion or "+" in congestion):
        return "some name no congestion control; give each one, or the group or study one for them"
    return _times_refusal(flows, warmup_s, over_s, interval_s)


def _times_refusal(
    flows: Sequence[PlannedFlow], warmup_s: float, over_s: float, interval_s: float
) -> str:
    if (together := together_s(flows)) is None:
        return ""
    for flow in flows:
        last_s = max(flow.start_s, flow.end_s or 0.0)
        if last_s >= over_s:
            return f"one starts or ends at {last_s:g} s, and a run is over after {over_s:g} s"
        if flow.end_s is not None and flow.end_s <= flow.start_s:
            return f"one ends at {flow.end_s:g} s, and starts at {flow.start_s:g} s"
    if min(flow.start_s for flow in flows) > 0:
        return "one at least starts with the run; leave out its start_s"
    if all(flow.end_s is not None for flow in flows):
        return "one at least lasts as long as the run; leave out its end_s"
    first_s, last_s = max(together[0], warmup_s), min(together[1], over_s)
    if last_s - first_s < LEAST_INTERVALS * interval_s:
        return (
            f"all are on from {together[0]:g} to {min(together[1], over_s):g} s, less than "
            f"{LEAST_INTERVALS} samples of the window, which begins at {warmup_s:g} s"
        )
    return ""
