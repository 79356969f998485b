"""Groups of runs on a path: their levels, options and timing."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from netlab.study.base import (
    MAX_ROUNDS,
    MTU,
    Buffer,
    Congestion,
    CrossLength,
    CrossRate,
    Direction,
    Generator,
    Listed,
    Model,
    Name,
    RecordLength,
    Several,
    Streams,
    misplaced,
    slug,
)
from netlab.study.factors import Excluded, Factors
from netlab.study.flows import PlannedFlow
from netlab.tuning.knobs import key

MAX_TRANSFER_B = 2**44
"""Largest amount that one stream may send, in bytes: two hours at 20 Gb/s."""


Rounds = Annotated[int, Field(ge=1, le=MAX_ROUNDS)]
Seconds = Annotated[float, Field(ge=0.05, le=3600, allow_inf_nan=False)]
WarmUp = Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)]
Interval = Annotated[int, Field(ge=10, le=60_000)]
Drain = Annotated[float, Field(ge=1, le=600, allow_inf_nan=False)]
LEAST_WARMUP_S = 0.3
WARMUP_RTTS = 20
"""Slow start doubles the congestion window each round trip: 20 of them fill any path."""
DRAIN_S, DRAIN_MOST_S = 5.0, 120.0
"""Timeout for data in flight where few streams have little, and where TCP itself waits as long."""
SEND_BUFFER_B = 87_040
"""Send buffer that Linux gives a stream with an initial window of ten segments."""
UNKNOWN_LINK_MBps = 12.5
"""Rate of the slowest card in use, 100 Mb/s."""


class Timing(Model, title="`timing`, `quick`"):
    """Duration and number of runs.

    Data in flight at the end drain slowly from many full buffers over a slow path, hence
    ``drain_s``: a limit, no wait. A run ends as soon as its streams have.
    """

    rounds: Rounds | None = key(
        "Rounds; each measures every cell once. Default 3, or as `precision` needs.", 5, None
    )
    seconds: Seconds = key("Measured window of a run, s.", 1.0, 1.0)
    warmup_s: WarmUp | None = key(
        "Warm-up before the window, s. Default 0.3, or 20 RTTs if that is more.", 0.3, None
    )
    interval_ms: Interval = key("Length of the interval samples, ms.", 100, 100)
    drain_s: Drain | None = key(
        "Timeout for data in flight after the window, s. Default 5, or as the time before, the "
        "streams' buffers and the link's rate need, at most 120.",
        20.0,
        None,
    )

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

    def drain_at(
        self, streams: int = 1, rtt_s: float = 0.0, *, buffer_B: int = 0, link_MBps: float = 0.0
    ) -> float:
        """Timeout for data in flight at the end of the window, s: as stated, else derived.

        All send buffers may be full. A stream that has lost all it had in flight since the start
        tries again after as long once more, as its timeouts double.
        """
        if self.drain_s is not None:
            return self.drain_s
        buffered_MB = streams * (buffer_B or SEND_BUFFER_B) / 1e6
        needed_s = buffered_MB / (link_MBps or UNKNOWN_LINK_MBps)
        needed_s += self.warmup_at(rtt_s) + self.seconds
        return min(DRAIN_MOST_S, max(DRAIN_S, needed_s))

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

    name: str = key(
        "Name of the group, the heading of its table.", "left -> right", min_length=1, max_length=60
    )
    path: Name = key("Name of its path.", "cable")
    sender: Name = key("Host that sends (in the forward direction).", "left")
    direction: Direction = key("One way or both at once.", "<->", "->")
    table: int | None = key("Number of the table in a source document.", 2, None, ge=1, le=9999)
    record_length_B: RecordLength = key(
        "Bytes of one send() or recv(), or of a datagram; 0, and of datagrams left out: those that "
        "fill the path's packet.",
        65536,
        65536,
    )
    buffer_B: Buffer = key("Socket buffer requested; left out, the kernel sizes it.", 262144, 0)
    receive_buffer_B: Buffer | None = key(
        "Socket buffer of the receiver, where it differs.", 134217728, None
    )
    congestion: Congestion | None = key(
        "Congestion control, in place of the study's.", "reno", None
    )
    flows: Listed[PlannedFlow] = key(
        "Flows that are unequal, dealt to the streams in turn.",
        [{"congestion": "bbr"}, {"congestion": "cubic", "count": 16, "start_s": 2.0}],
        (),
    )
    generator: Generator = key("Program that sends and receives.", "iperf3", "netlab")
    cross_udp_Mbps: CrossRate = key(
        "UDP beside the streams, from the sender to the receiver, 10⁶ bit/s of payload; 0: none.",
        20.0,
        0.0,
    )
    cross_udp_B: CrossLength | None = key(
        "Bytes of each of its datagrams; left out: those that fill the path's packet.", 1200, None
    )
    force_loss_at_s: float | None = key(
        "Drop one packet this long after the start; needs an emulator.",
        4.0,
        None,
        ge=0,
        le=3600,
        allow_inf_nan=False,
    )
    tunings: Several[Name] | None = key("Only these tuning levels.", ["as-found"], None)
    mtus_B: Several[MTU] | None = key("Only these MTUs.", [9000], None)
    streams: Several[Streams] | None = key("Only these numbers of streams.", [1], None)
    factors: Factors = key(
        "Factors of the group, before the study's.", {"send": ["copy", "zerocopy"]}, Factors()
    )
    exclude: Listed[Excluded] = key(
        "Combinations left out, besides the study's.", [{"send": "zerocopy", "streams": 1}], ()
    )
    timing: GroupTiming | None = key("Timing in place of the study's.", {"seconds": 30.0}, None)
    quick: GroupTiming | None = key("Timing in the short form.", {"seconds": 3.0}, None)
    target_percent_of_bus: float | None = key(
        "Goal of the best cell, per cent of the bus.", 80.0, None, gt=0, le=100
    )
    target_Gbps: float | None = key(
        "Goal of the best cell, 10⁹ bit/s of payload.",
        9.0,
        None,
        gt=0,
        le=100_000,
        allow_inf_nan=False,
    )
    records: int | None = key(
        "Send this many records a stream, in place of a time.", 1000, None, ge=1, le=1_000_000_000
    )
    quick_records: int | None = key(
        "The same in the short form.", 100, None, ge=1, le=1_000_000_000
    )
    short: bool = key("The short form has this group.", False, True)
    part: str = key("Part of the study that the group belongs to.", "recovery", "", max_length=60)

    @field_validator("name")
    @classmethod
    def _has_a_slug(cls, value: str) -> str:
        if not slug(value):
            raise ValueError("needs a letter or digit of ASCII, to name its runs")
        return value

    @model_validator(mode="before")
    @classmethod
    def _datagrams_fill_a_packet(cls, content: object) -> object:
        # TCP's default is larger than any datagram
        if isinstance(content, dict) and sends_datagrams(str(content.get("generator"))):
            return {"record_length_B": FILL_PACKET, **content}
        return content

    @model_validator(mode="after")
    def _only_datagrams_fill_a_packet(self) -> Self:
        takes = self.factors.generator or (self.generator,)
        if self.record_length_B == FILL_PACKET and not any(map(sends_datagrams, takes)):
            text = "0 is for datagrams; a record has 1 byte or more"
            raise misplaced(text, ("record_length_B",), 0, code="E-STUDY-091")
        return self

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


CROSS_S = 3.5
"""Time that UDP beside the streams outlasts their window, which begins a little later."""


UDP = "udp"
"""netlab's own generator of datagrams; every further one is a tool installed on the hosts."""


FILL_PACKET = 0
"""As `record_length_B` of datagrams: as much as a packet of the path carries."""


def sends_datagrams(generator: str) -> bool:
    """True for netlab's own generator of datagrams, and a tool's, as iperf3-udp."""
    return generator.endswith(UDP)
