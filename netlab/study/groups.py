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
from netlab.tuning.knobs import key

MAX_TRANSFER_B = 2**44
"""Largest amount that one stream may send, in bytes: two hours at 20 Gb/s."""


Seconds = Annotated[float, Field(ge=0.05, le=3600, allow_inf_nan=False)]
WarmUp = Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)]
Interval = Annotated[int, Field(ge=10, le=60_000)]
Drain = Annotated[float, Field(ge=1, le=600, allow_inf_nan=False)]
LEAST_WARMUP_S = 0.3
WARMUP_RTTS = 20
"""Slow start doubles the congestion window each round trip: 20 of them fill any path."""


class Timing(Model, title="`timing`, `quick`"):
    """Duration and number of runs.

    Data in flight at the end drain slowly from a full buffer over a slow path, hence ``drain_s``.
    """

    rounds: Annotated[
        Annotated[int, Field(ge=1, le=MAX_ROUNDS)] | None,
        key("Rounds; each measures every cell once. Default 3, or as `precision` needs.", 5),
    ] = None
    seconds: Annotated[Seconds, key("Measured window of a run, s.", 1.0)] = 1.0
    warmup_s: Annotated[
        WarmUp | None,
        key("Warm-up before the window, s. Default 0.3, or 20 RTTs if that is more.", 0.3),
    ] = None
    interval_ms: Annotated[Interval, key("Length of the interval samples, ms.", 100)] = 100
    drain_s: Annotated[Drain, key("Timeout for data in flight after the window, s.", 5.0)] = 5.0

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


class GroupTiming(Model, title="`timing`, `quick` of a group"):
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


class Group(Model, title="`groups`"):
    """One table of the report: a direction over a path, all tunings, MTUs and stream counts.

    A buffer of 0 is not requested: the kernel sizes it. ``factors`` come before the study's of the
    same name. A forced loss is timed from the start of the run, its warm-up included.
    """

    name: Annotated[
        str,
        key(
            "Name of the group, the heading of its table.",
            "left -> right",
            min_length=1,
            max_length=60,
        ),
    ]
    path: Annotated[Name, key("Name of its path.", "cable")]
    sender: Annotated[Name, key("Host that sends (in the forward direction).", "left")]
    direction: Annotated[Direction, key("One way or both at once.", "<->")] = "->"
    table: Annotated[
        Annotated[int, Field(ge=1, le=9999)] | None,
        key("Number of the table in a source document.", 2),
    ] = None
    record_length_B: Annotated[RecordLength, key("Bytes of one send() or recv().", 65536)] = 65536
    buffer_B: Annotated[
        Buffer, key("Socket buffer requested; left out, the kernel sizes it.", 262144)
    ] = 0
    receive_buffer_B: Annotated[
        Buffer | None, key("Socket buffer of the receiver, where it differs.", 134217728)
    ] = None
    congestion: Annotated[
        Congestion | None, key("Congestion control, in place of the study's.", "reno")
    ] = None
    generator: Annotated[Generator, key("Program that sends and receives.", "iperf3")] = "netlab"
    force_loss_at_s: Annotated[
        Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] | None,
        key("Drop one packet this long after the start; needs an emulator.", 4.0),
    ] = None
    tunings: Annotated[
        Annotated[tuple[Name, ...], Field(strict=False, min_length=1)] | None,
        key("Only these tuning levels.", ["as-found"]),
    ] = None
    mtus_B: Annotated[
        Annotated[tuple[MTU, ...], Field(strict=False, min_length=1)] | None,
        key("Only these MTUs.", [9000]),
    ] = None
    streams: Annotated[
        Annotated[tuple[Streams, ...], Field(strict=False, min_length=1)] | None,
        key("Only these numbers of streams.", [1]),
    ] = None
    factors: Annotated[
        Factors, key("Factors of the group, before the study's.", {"send": ["copy", "zerocopy"]})
    ] = Factors()
    exclude: Annotated[
        tuple[Excluded, ...],
        key(
            "Combinations left out, besides the study's.",
            [{"send": "zerocopy", "streams": 1}],
            strict=False,
        ),
    ] = ()
    timing: Annotated[
        GroupTiming | None, key("Timing in place of the study's.", {"seconds": 30.0})
    ] = None
    quick: Annotated[GroupTiming | None, key("Timing in the short form.", {"seconds": 3.0})] = None
    target_percent_of_bus: Annotated[
        Annotated[float, Field(gt=0, le=100)] | None,
        key("Goal of the best cell, per cent of the bus.", 80.0),
    ] = None
    target_Gbps: Annotated[
        Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] | None,
        key("Goal of the best cell, 10⁹ bit/s of payload.", 9.0),
    ] = None
    records: Annotated[
        Annotated[int, Field(ge=1, le=1_000_000_000)] | None,
        key("Send this many records a stream, in place of a time.", 1000),
    ] = None
    quick_records: Annotated[
        Annotated[int, Field(ge=1, le=1_000_000_000)] | None,
        key("The same in the short form.", 100),
    ] = None
    short: Annotated[bool, key("The short form has this group.", False)] = True
    part: Annotated[
        str, key("Part of the study that the group belongs to.", "recovery", max_length=60)
    ] = ""

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
