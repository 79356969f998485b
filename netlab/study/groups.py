"""Groups of runs on a path: their levels, options and timing."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from netlab.study.base import (
    MAX_ROUNDS,
    MTU,
    Buffer,
    Congestion,
    Direction,
    Generator,
    Model,
    Name,
    RecordLength,
    Streams,
    slug,
)
from netlab.study.factors import Excluded, Factors

MAX_TRANSFER_B = 2**44
"""Largest amount that one stream may send, in bytes: two hours at 20 Gb/s."""


Seconds = Annotated[float, Field(ge=0.05, le=3600, allow_inf_nan=False)]
WarmUp = Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)]
Interval = Annotated[int, Field(ge=10, le=60_000)]
Drain = Annotated[float, Field(ge=1, le=600, allow_inf_nan=False)]
LEAST_WARMUP_S = 0.3
WARMUP_RTTS = 20
"""Slow start doubles the congestion window each round trip: 20 of them fill any path."""


class Timing(Model):
    """Duration and number of runs.

    ``rounds`` is how often every cell is measured; left out, it follows from the study's
    ``precision``, and is :data:`ROUNDS` without one. ``seconds`` is the measured window; warm-up
    comes before it and follows the path's RTT where ``warmup_s`` is left out. ``drain_s`` is the
    timeout for data in flight to arrive after it; a full buffer drains slowly over a slow path.
    """

    rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] | None = None
    seconds: Seconds = 1.0
    warmup_s: WarmUp | None = None
    interval_ms: Interval = 100
    drain_s: Drain = 5.0

    @model_validator(mode="before")
    @classmethod
    def _repeats_are_rounds(cls, content: object) -> object:
        if isinstance(content, dict) and "repeats" in content:
            raise ValueError("repeats: is called `rounds` now: every round measures each cell once")
        return content

    def warmup_at(self, rtt_s: float = 0.0) -> float:
        """Warm-up on a path of that RTT, s: as stated, else :data:`WARMUP_RTTS` round trips."""
        if self.warmup_s is not None:
            return self.warmup_s
        return max(LEAST_WARMUP_S, round(WARMUP_RTTS * rtt_s, 3))

    def text(self) -> str:
        """Window and warm-up of a run, for tables."""
        warmup_s = self.warmup_at()
        longer = f", {WARMUP_RTTS} RTTs where that is more" if self.warmup_s is None else ""
        return f"{self.seconds:g} s after {warmup_s:g} s of warm-up{longer}"


class GroupTiming(Model):
    """Duration of a group's runs; what is left out is as in the study's timing.

    The number of rounds is the study's: every round makes each cell of all groups once.
    """

    seconds: Seconds | None = None
    warmup_s: WarmUp | None = None
    interval_ms: Interval | None = None
    drain_s: Drain | None = None

    @model_validator(mode="before")
    @classmethod
    def _rounds_are_the_studys(cls, content: object) -> object:
        if isinstance(content, dict) and "rounds" in content:
            raise ValueError("rounds: are the study's, not a group's")
        return content

    def over(self, timing: Timing) -> Timing:
        """The study's timing with what is given here."""
        return timing.model_copy(update=self.model_dump(exclude_none=True))


class Group(Model):
    """One table of the report: a direction over a path, all tunings, MTUs and stream counts.

    Parameters
    ----------
    record_length_B : int
        Bytes of one send() or recv().
    buffer_B, receive_buffer_B : int
        Socket buffers requested at both ends, or at the sender alone where `receive_buffer_B`
        gives the receiver's; 0 requests none, and the kernel sizes them.
    congestion : str, optional
        Congestion control, in place of the study's.
    generator : str
        Program that sends and receives: netlab, or a tool that is installed on both hosts.
    force_loss_at_s : float, optional
        Drop one data packet of the forward direction this long after the start of each run, its
        warm-up included; on a path with netlab's own emulator.
    tunings, mtus_B, streams : tuple, optional
        Only these of the study's levels.
    factors : Factors
        Factors of the group, besides the study's or in place of those of the same name.
    exclude : tuple of dict
        Combinations that are left out, besides the study's.
    timing, quick : GroupTiming, optional
        Duration of the group's runs, and in the study's short form, in place of the study's.
    target_percent_of_bus, target_Gbps : float, optional
        Goal of the best cell: per cent of the bus, or 10^9 bit/s of payload.
    records : int, optional
        Send this many records on each stream, in place of sending for a time.
    quick_records : int, optional
        In place of `records` in the study's short form.
    short : bool
        Whether the study's short form has the group.
    part : str
        Part of the study that the group belongs to, where a study has parts.
    """

    name: Annotated[str, Field(min_length=1, max_length=60)]
    path: Name
    sender: Name
    direction: Direction = "->"
    table: Annotated[int, Field(ge=1, le=9999)] | None = None
    record_length_B: RecordLength = 65536
    buffer_B: Buffer = 0
    receive_buffer_B: Buffer | None = None
    congestion: Congestion | None = None
    generator: Generator = "netlab"
    force_loss_at_s: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] | None = None
    tunings: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)] | None = None
    mtus_B: Annotated[tuple[MTU, ...], Field(strict=False, min_length=1)] | None = None
    streams: Annotated[tuple[Streams, ...], Field(strict=False, min_length=1)] | None = None
    factors: Factors = Factors()
    exclude: Annotated[tuple[Excluded, ...], Field(strict=False)] = ()
    timing: GroupTiming | None = None
    quick: GroupTiming | None = None
    target_percent_of_bus: Annotated[float, Field(gt=0, le=100)] | None = None
    target_Gbps: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] | None = None
    records: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    quick_records: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    short: bool = True
    part: Annotated[str, Field(max_length=60)] = ""

    @field_validator("name")
    @classmethod
    def _has_a_slug(cls, value: str) -> str:
        if not slug(value):
            raise ValueError("needs a letter or digit of ASCII, to name its runs")
        return value

    @model_validator(mode="after")
    def _sends_a_time_or_an_amount(self) -> Self:
        if self.quick_records is not None and self.records is None:
            raise ValueError("quick_records: a group that sends for a time has no records")
        if self.records is None:
            return self
        if self.records * self.record_length_B > MAX_TRANSFER_B:
            raise ValueError(
                f"records: {self.records} of {self.record_length_B} B are over {MAX_TRANSFER_B} B"
            )
        if self.direction == "<->" or self.generator != "netlab":
            raise ValueError("records: only netlab sends an amount, and in one direction")
        return self

    def in_short(self) -> Group:
        """The group as the study's short form has it."""
        given = {"records": self.quick_records or self.records, "quick_records": None}
        return self.model_copy(update=given)
