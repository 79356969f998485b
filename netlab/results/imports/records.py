"""Records: the common output of all parsers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from netlab.errors import BadInput

MAX_COUNT = 2**53
MAX_SECONDS = 1e7
MAX_RATE_BPS = 1e18
MAX_STREAMS = 100_000
MAX_UNIX_S = 7_000_000_000


def damaged(line: int, reason: str, *, code: str) -> BadInput:
    """Return the error of a parser for a line, from 1."""
    return BadInput(reason, where=f"line {line}", code=code)


@dataclass(frozen=True)
class Sample:
    """Bytes of one stream in one interval; ``t_s`` is its end from the start, warm-up included."""

    stream: int
    t_s: float
    interval_s: float
    bytes: int
    in_window: bool = True


@dataclass(frozen=True)
class Flow:
    """One direction of a run: the bytes moved within the measured window of ``window_s``.

    ``sent_B`` and ``received_B`` are of the whole run and None if the tool does not print them;
    ``window_B`` is the count behind the goodput, at the end named by ``measured_at``.
    """

    streams: int
    window_s: float
    goodput_MBps: float
    measured_at: Literal["sender", "receiver"] | None
    window_B: int | None = None
    sent_B: int | None = None
    received_B: int | None = None
    samples: tuple[Sample, ...] = ()


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
    retransmits: int | None = None
    rtt_us: float | None = None
    min_rtt_us: float | None = None
    cwnd_segments: float | None = None
    sndbuf_B: int | None = None
    rcvbuf_B: int | None = None
    rounded: bool = False
    extras: dict[str, object] = field(default_factory=dict)

    @property
    def flows(self) -> tuple[Flow, ...]:
        """Forward, and reverse where there is one."""
        return (self.forward,) if self.reverse is None else (self.forward, self.reverse)
