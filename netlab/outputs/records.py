"""Records: the common output of all parsers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean
from typing import Any, Literal

from netlab.errors import BadInput

MAX_COUNT = 2**53
MAX_SECONDS = 1e7
MAX_RATE_BPS = 1e18
MAX_STREAMS = 10_000
MAX_UNIX_S = 7_000_000_000
MAX_LINE = 4096
"""Characters of a line of text: patterns with several gaps take the square of it."""


End = Literal["sender", "receiver"]


def damaged(line: int, reason: str, *, code: str) -> BadInput:
    """Return the error of a parser for a line, from 1."""
    return BadInput(reason, where=f"line {line}", code=code)


def expect(condition: object, line: int, reason: str, code: str) -> None:
    if not condition:
        raise damaged(line, reason, code=code)


@dataclass(frozen=True)
class Sample:
    """Bytes of one stream in one interval; ``t_s`` is its end from the start, warm-up included."""

    stream: int
    t_s: float
    interval_s: float
    bytes: int
    in_window: bool = True


@dataclass(frozen=True)
class Datagrams:
    """Datagrams of a stream or of several; None is unknown.

    A receiver counts up to the last that it received: ``lost`` and ``received`` are those, and
    ``sent`` too where the sender's count is unknown.
    """

    sent: int | None = None
    received: int | None = None
    lost: int | None = None
    jitter_us: float | None = None
    reordered: int | None = None
    skipped: int | None = None

    def columns(self, *, whole: bool = True) -> dict[str, float | int | None]:
        """Columns of a run; counts of the whole run only; loss as the receiver saw it."""
        seen = (self.received or 0) + (self.lost or 0)
        counts = {
            "sent_datagrams": self.sent,
            "skipped_datagrams": self.skipped,
            "received_datagrams": self.received,
        }
        return {
            **(counts if whole else {}),
            "lost_percent": 100 * (self.lost or 0) / seen if seen else None,
            "reordered": self.reordered,
            "jitter_us": self.jitter_us,
        }

    @classmethod
    def total(cls, parts: Iterable[Datagrams | None]) -> Datagrams | None:
        """The sums of counts, and the mean of jitter; None if a part is of TCP."""
        each = list(parts)
        whole = [one for one in each if one]
        if not whole or len(whole) < len(each):
            return None
        names = ("sent", "received", "lost", "reordered", "skipped")
        jitters_us = [one.jitter_us for one in whole if one.jitter_us is not None]
        return cls(
            **{name: sum_of([getattr(one, name) for one in whole]) for name in names},
            jitter_us=fmean(jitters_us) if jitters_us else None,
        )


def datagrams_of(line: int, match: re.Match) -> Datagrams:
    """The counts that a receiver printed: lost datagrams of those sent, and jitter in ms."""
    lost, sent = int(match["lost"]), int(match["sent"])
    expect(lost <= sent, line, f"{lost} datagrams lost of {sent}", "E-IMPORT-028")
    jitter_ms = match.groupdict().get("jitter")
    return Datagrams(sent, sent - lost, lost, 1e3 * float(jitter_ms) if jitter_ms else None)


@dataclass(frozen=True)
class Flow:
    """One direction of a run: the bytes moved within the measured window of ``window_s``.

    ``sent_B`` and ``received_B`` are of the whole run and None if the tool does not print them;
    ``window_B`` is the count behind the goodput, at the end named by ``measured_at``. ``note`` says
    which figures contradict these and are left out.
    """

    streams: int
    window_s: float
    goodput_MBps: float
    measured_at: End | None
    window_B: int | None = None
    sent_B: int | None = None
    received_B: int | None = None
    samples: tuple[Sample, ...] = ()
    note: str = ""
    datagrams: Datagrams | None = None


@dataclass(frozen=True)
class Record:
    """One run as a tool reported it. None is unknown."""

    tool: str
    line: int
    forward: Flow
    reverse: Flow | None = None
    version: str | None = None
    client_sends: bool | None = None
    streams: int | None = None
    started_unix_s: float | None = None
    warmup_s: float = 0.0
    wall_s: float | None = None
    path_mtu_B: int | None = None
    mss_B: int | None = None
    record_length_B: int | None = None
    buffer_B: int | None = None
    congestion: str | None = None
    pacing_MBps: float | None = None
    retransmits: int | None = None
    rtt_us: float | None = None
    min_rtt_us: float | None = None
    cwnd_segments: float | None = None
    ping_ms: dict[str, tuple[float, ...]] = field(default_factory=dict)
    sndbuf_B: int | None = None
    rcvbuf_B: int | None = None
    rounded: bool = False
    extras: dict[str, object] = field(default_factory=dict)
    test_id: str | None = None
    """The tool's own id of the test, which both ends print."""

    @classmethod
    def of(cls, tool: str, line: int, flows: Sequence[Flow], **facts: Any) -> Record:
        """A run of one direction or of two, which begin and end together."""
        facts.setdefault("streams", flows[0].streams)
        wall_s = facts.get("warmup_s", 0.0) + max(flow.window_s for flow in flows)
        reverse = flows[1] if len(flows) > 1 else None
        return cls(tool, line, flows[0], reverse, wall_s=wall_s, **facts)

    @property
    def flows(self) -> tuple[Flow, ...]:
        return (self.forward,) if self.reverse is None else (self.forward, self.reverse)

    @property
    def datagrams(self) -> Datagrams | None:
        """Those of all directions; None of TCP."""
        return Datagrams.total(flow.datagrams for flow in self.flows)


def one_flow(
    tool: str,
    line: int,
    window_s: float,
    goodput_MBps: float,
    measured_at: End | None,
    *,
    streams: int | None,
    window_B: int | None,
    sent_B: int | None = None,
    received_B: int | None = None,
    samples: tuple[Sample, ...] = (),
    datagrams: Datagrams | None = None,
    **facts: Any,
) -> Record:
    """A run of one direction without a warm-up."""
    bytes_ = (window_B, sent_B, received_B)
    flow = Flow(streams or 0, window_s, goodput_MBps, measured_at, *bytes_, samples, "", datagrams)
    return Record.of(tool, line, [flow], streams=streams, **facts)


Runs = tuple[Record | BadInput, ...]
"""The runs of a text in their order, each read or refused with its reason."""


def whole(runs: Runs) -> tuple[Record, ...]:
    """The records of a text, of which no run may be refused."""
    for run in runs:
        if isinstance(run, BadInput):
            raise run
    return tuple(run for run in runs if isinstance(run, Record))


def sum_of(amounts: Iterable[int | None]) -> int | None:
    """Sum of amounts; None if one is unknown or there is none."""
    numbers = list(amounts)
    return sum(n or 0 for n in numbers) if numbers and None not in numbers else None


def unix_s(text: str, form: str) -> float | None:
    """Seconds of a time in UTC; None if it is not one."""
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
