"""The link between two hosts: a lab's cable and card, an emulated long path, or a real one."""

from __future__ import annotations

import ipaddress
import math
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from netlab.study.base import Listed, Megabytes, Model, Sparse, is_default
from netlab.study.hosts import End
from netlab.study.rate_trace import RateTrace
from netlab.tuning.knobs import key

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
MOST_QUEUES = 256
MOST_ALSO = 7
"""Further senders: flows of a group have at most eight entries."""
Milliseconds = Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)]
RoundTrip = Annotated[float, Field(ge=0, le=20_000, allow_inf_nan=False)]
Jitter = Annotated[float, Field(ge=0, le=2000, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
Burst = Annotated[float, Field(ge=1, le=1_000_000, allow_inf_nan=False)]
Loss = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
QueueBytes = Annotated[int, Field(ge=1, le=2**30)]
QueuePackets = Annotated[int, Field(ge=1, le=1_000_000)]
Queues = Annotated[int, Field(ge=1, le=MOST_QUEUES)]
InterruptDelay = Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]
ReadBurst = Literal[512, 1024, 2048, 4096]
"""Maximum memory read byte count (MMRBC) of a PCI-X card."""


Discipline = Literal["fifo", "codel", "fq_codel", "pie", "cake"]
"""Discipline of the queue before a rate: RFC 8289, 8290, 8033, CAKE, or none beside its limit."""
OF_CODEL_MS = (5.0, 100.0)
DISCIPLINE_MS = {
    **dict.fromkeys(("codel", "fq_codel", "cake"), OF_CODEL_MS),
    "pie": (15.0, 15.0),
}
"""Target and interval of a discipline, ms, as its RFC, or Linux's sch_cake, has them."""
Target = Annotated[float, Field(ge=0.001, le=1000, allow_inf_nan=False)]
DisciplineInterval = Annotated[float, Field(ge=0.001, le=4000, allow_inf_nan=False)]


TRACE = "lte.down"


def with_mean_rate(content: object) -> object:
    """Settings with the mean of their trace as the rate, where they state none."""
    if not isinstance(content, dict) or content.get("rate_Mbps") is not None:
        return content
    trace = content.get("trace")
    if isinstance(trace, dict):
        trace = RateTrace.model_validate(trace)
    return {**content, "rate_Mbps": trace.mean_Mbps} if isinstance(trace, RateTrace) else content


def check_one_rate(way: Emulator | Reverse) -> None:
    """Refuse a rate beside a trace that is not its mean."""
    if way.trace is not None and way.rate_Mbps != way.trace.mean_Mbps:
        raise ValueError("rate_Mbps and trace set the same rate: give one")


class Reverse(Sparse, title="`paths.NAME.link.emulator.reverse`"):
    """Settings of the direction from the second end of a path to the first.

    What is left out is as in the other direction. A queue here replaces the other direction's.
    """

    delay_ms: Milliseconds | None = key(
        "Delay of this direction, ms; of an `rtt_ms` the other direction has the rest.", 10.0, None
    )
    rate_Mbps: Rate | None = key("Rate, 10⁶ bit/s of frames.", 10.0, None)
    trace: RateTrace | None = key("Trace file, in place of `rate_Mbps`.", TRACE, None)
    queue_B: QueueBytes | None = key("Queue before the rate, bytes.", 62500, None)
    queue_packets: QueuePackets | None = key("Queue before the rate, packets.", 50, None)
    mark_above_B: QueueBytes | None = key(
        "Packets that meet a longer queue are marked (ECN).", 30000, None
    )
    queue_discipline: Discipline | None = key("Discipline of the queue.", "fq_codel", None)
    target_ms: Target | None = key("Target of the discipline, ms.", 5.0, None)
    interval_ms: DisciplineInterval | None = key("Interval of the discipline, ms.", 100.0, None)
    queue_ecn: bool | None = key("The discipline marks (ECN) in place of drops.", True, None)
    burst_B: QueueBytes | None = key("Token bucket of this direction, bytes.", 15000, None)
    policer: bool | None = key("Drop what finds no tokens.", True, None)
    loss: Probability | None = key("Probability that a packet is lost.", 0.01, None)
    loss_burst_packets: Burst | None = key("Mean length of a burst of losses, packets.", 8.0, None)
    loss_in_burst: Loss | None = key("Probability of loss within a burst.", 0.5, None)
    jitter_ms: Jitter | None = key("Uniform variation of the delay, either way.", 0.5, None)

    @model_validator(mode="before")
    @classmethod
    def _mean_rate(cls, content: object) -> object:
        return with_mean_rate(content)

    @model_validator(mode="after")
    def _one_rate(self) -> Self:
        check_one_rate(self)
        return self


class Second(Sparse, title="`paths.NAME.link.emulator.second`"):
    """A second link behind the first one, towards the second end of the path; alike each way.

    TCP passes both, or what `over` of `groups.flows` says.
    """

    rtt_ms: RoundTrip = key("Round trip that it adds, ms, without queueing.", 10.0, 0.0)
    rate_Mbps: Rate | None = key("Rate of each direction, 10⁶ bit/s of frames.", 10.0, None)
    queue_B: QueueBytes | None = key("Queue before the rate, each way, bytes.", 62500, None)
    queue_packets: QueuePackets | None = key("Queue before the rate, packets.", 50, None)
    queue_discipline: Discipline = key("Discipline of the queue.", "fq_codel", "fifo")
    queue_ecn: bool | None = key("The discipline marks (ECN) in place of drops.", True, None)
    loss: Probability = key("Probability that a packet is lost.", 0.001, 0.0)


FIRST_RETRY_S = 0.2
"""Least retransmission timeout of TCP; each further retry takes twice as long."""

OF_QUEUE = ("queue_B", "queue_packets")
OF_DISCIPLINE = ("target_ms", "interval_ms", "queue_ecn")


class Emulator(Model, title="`paths.NAME.link.emulator`"):
    """A long path between two lab hosts: the kernel's netem, or netlab's own emulator.

    ``rate_Mbps`` counts the IP bytes of every packet and 14 of an Ethernet header; without it the
    path has no queue and is as fast as the processor that emulates it: a burst then adds its
    processing time to the round trip. Without a length, memory limits the queue. netem sends a
    packet that it reorders at once, takes no ``reorder`` with a rate or without a delay, and
    ``jitter_ms`` reorders packets there.
    """

    with_: Literal["netlab", "netem"] | None = key(
        "`netem` or `netlab`. Default: netem where it can do all that is asked.",
        "netlab",
        None,
        alias="with",
    )
    rtt_ms: RoundTrip | None = key("Round-trip time without queueing.", 183.0, None)
    delay_ms: tuple[Milliseconds, Milliseconds] | None = key(
        "Delay each way, in place of `rtt_ms`.", [90.0, 93.0], None, strict=False
    )
    rate_Mbps: Rate | None = key("Rate of each direction, 10⁶ bit/s of frames.", 2500.0, None)
    trace: RateTrace | None = key(
        "Rate over time, in place of `rate_Mbps`: a trace file of mahimahi, beside the study's.",
        TRACE,
        None,
    )
    queue_B: QueueBytes | None = key("Queue before the rate, each way, bytes.", 57194375, None)
    queue_packets: QueuePackets | None = key(
        "Queue before the rate, each way, packets.", 1000, None
    )
    mark_above_B: QueueBytes | None = key(
        "Packets that meet a longer queue are marked (ECN).", 125000, None
    )
    loss: Probability = key("Probability that a packet is lost.", 0.0001, 0.0)
    jitter_ms: Jitter = key("Uniform variation of the delay, either way.", 0.5, 0.0)
    reorder: Probability = key("Probability that a packet is delayed by `reorder_ms`.", 0.001, 0.0)
    reorder_ms: Milliseconds = key("Further delay of reordered packets.", 1.0, 1.0)
    seed: int = key("Seed of loss, jitter and reordering.", 1, 0, ge=0, le=2**62)
    queue_discipline: Discipline = key(
        "`codel` (RFC 8289), `fq_codel` (RFC 8290), `pie` (RFC 8033) or `cake` (one tin).",
        "fq_codel",
        "fifo",
    )
    target_ms: Target | None = key(
        "Target of the discipline, ms. Default: 5; of `pie` 15.", 5.0, None
    )
    interval_ms: DisciplineInterval | None = key(
        "Interval of the discipline, ms, of `pie` that of its updates. Default: 100; 15.",
        100.0,
        None,
    )
    queue_ecn: bool | None = key(
        "The discipline marks (ECN) packets in place of dropping them, where the flow negotiated "
        "ECN: `net.ipv4.tcp_ecn` is 1, or `dctcp`. Default: `cake` marks, others drop.",
        True,
        None,
    )
    burst_B: QueueBytes | None = key(
        "Token bucket: bytes that pass at once after a pause, before the rate.", 125000, None
    )
    policer: bool = key(
        "Packets beyond `burst_B` are dropped, in place of queueing them.", True, False
    )
    loss_burst_packets: Burst | None = key(
        "Losses come in bursts of this mean length, packets (Gilbert-Elliott); `loss` is the mean.",
        8.0,
        None,
    )
    loss_in_burst: Loss = key("Probability of loss within a burst.", 0.5, 1.0)
    reverse: Reverse | None = key(
        "What differs from the second end to the first.", {"rate_Mbps": 10.0, "loss": 0.01}, None
    )
    second: Second | None = key(
        "A second link in a row (parking lot).", {"rate_Mbps": 10.0, "queue_packets": 50}, None
    )

    left_out: ClassVar[tuple[str, ...]] = (
        *("queue_discipline", "target_ms", "interval_ms", "queue_ecn", "burst_B", "policer"),
        *("loss_burst_packets", "loss_in_burst", "reverse", "trace", "second"),
    )
    """Keys that are left out of files and digests where they have their default.

    Studies without them have the digests that they had before there were such keys.
    """

    @model_validator(mode="before")
    @classmethod
    def _mean_rate(cls, content: object) -> object:
        return with_mean_rate(content)

    @model_validator(mode="after")
    def _is_one_path(self) -> Self:
        check_one_rate(self)
        if self.rtt_ms is not None and self.delay_ms is not None:
            raise ValueError("rtt_ms and delay_ms set the same delay: give one")
        if self.with_ == "netem" and self.queue_B and self.queue_packets:
            raise ValueError("netem bounds a queue in bytes or in packets: give one")
        if self.with_ == "netem" and self.reverse is not None:
            raise ValueError("netem is set alike in both directions: leave out reverse, or with")
        if self.with_ == "netem" and self.second is not None:
            raise ValueError("netem emulates one link: leave out second, or with")
        if self.reverse is not None and self.reverse.delay_ms is not None:
            if self.delay_ms is not None:
                raise ValueError("reverse.delay_ms and delay_ms set the same delay: give one")
            if self.rtt_ms is not None and self.reverse.delay_ms > self.rtt_ms:
                raise ValueError("reverse.delay_ms is a part of rtt_ms: give less")
        for way in self.ways:
            way.check_queue()
            way.check_bursts()
        for link in self.links[1:]:
            try:
                link.check_queue()
            except ValueError as fault:
                raise ValueError(f"second: {fault}") from None
        return self

    def check_bursts(self) -> None:
        """Refuse bursts of losses that cannot have the mean loss."""
        if self.loss_burst_packets is None:
            if self.loss_in_burst != 1:
                raise ValueError("loss_in_burst: needs loss_burst_packets, their length")
        elif max(self.burst_chances) > 1 or self.loss >= self.loss_in_burst:
            raise ValueError(
                f"loss: bursts of {self.loss_burst_packets:g} packets that lose "
                f"{self.loss_in_burst:g} of them cannot make a mean of {self.loss:g}; "
                "lower loss, or lengthen loss_burst_packets"
            )

    @property
    def burst_chances(self) -> tuple[float, float]:
        """Probabilities per packet that a burst of losses begins, and that it ends; 0 without."""
        if self.loss_burst_packets is None or self.loss >= self.loss_in_burst:
            return 0.0, 0.0
        ends, share = 1 / self.loss_burst_packets, self.loss / self.loss_in_burst
        return ends * share / (1 - share), ends

    def burst_outlasts(self, wait_s: float) -> float:
        """Chance that a packet which a burst dropped is dropped with each retry within a time.

        Of a stream that sends nothing beside: a burst is counted in packets, and ends with these
        retries alone.
        """
        if self.loss_burst_packets is None or not self.loss:
            return 0.0
        retries = math.floor(math.log2(max(0.0, wait_s) / FIRST_RETRY_S + 1))
        return float((self.loss_in_burst * (1 - 1 / self.loss_burst_packets)) ** retries)

    @property
    def marks(self) -> bool:
        """True if the discipline marks (ECN) where it would drop."""
        return self.queue_discipline == "cake" if self.queue_ecn is None else self.queue_ecn

    def check_queue(self) -> None:
        """Refuse a queue or a bucket of one direction that contradicts its other settings."""
        queue = self.queue_B or self.queue_packets or self.mark_above_B
        if queue and self.rate_Mbps is None:
            raise ValueError("a queue needs a rate_Mbps to wait for")
        if self.burst_B and self.trace is not None:
            raise ValueError("burst_B: a trace has no bucket; leave one of them out")
        if self.burst_B and self.rate_Mbps is None:
            raise ValueError("burst_B: a bucket needs a rate_Mbps that fills it")
        if self.policer and not self.burst_B:
            raise ValueError("policer: needs burst_B, the bucket that it takes tokens from")
        managed = self.queue_discipline != "fifo"
        if managed and self.rate_Mbps is None:
            raise ValueError("queue_discipline: a queue needs a rate_Mbps to wait for")
        if managed and (self.policer or self.mark_above_B):
            raise ValueError("queue_discipline: takes no policer and no mark_above_B")
        if not managed and (self.target_ms or self.interval_ms):
            raise ValueError("target_ms and interval_ms are of a queue_discipline: name it")
        if not managed and self.queue_ecn:
            raise ValueError(
                "queue_ecn: a plain queue marks by its length: name a queue_discipline, "
                "or give mark_above_B"
            )
        if self.policer and queue:
            raise ValueError("policer: has no queue; leave out its length and marks")

    @model_serializer(mode="wrap")
    def _as_in_a_file(self, serialize: SerializerFunctionWrapHandler) -> dict:
        content = serialize(self)
        for name in self.left_out:
            if is_default(self, name):
                content.pop(name, None)  # absent already where defaults are excluded
        # a keyword of Python
        return {"with" if key == "with_" else key: value for key, value in content.items()}

    @property
    def each_way_ms(self) -> tuple[float, float]:
        """Delay from the first end to the second, and back, of all links."""
        more_ms = 0.0 if self.second is None else self.second.rtt_ms / 2
        if self.reverse is not None and self.reverse.delay_ms is not None:
            back_ms = self.reverse.delay_ms
            return (self.rtt_ms or back_ms) - back_ms + more_ms, back_ms + more_ms
        there_ms, back_ms = self.delay_ms or ((self.rtt_ms or 0.0) / 2,) * 2
        return there_ms + more_ms, back_ms + more_ms

    @property
    def links(self) -> tuple[Emulator, ...]:
        """Each link of the path by itself, from the first end on."""
        first = self.model_copy(update={"second": None})
        if self.second is None:
            return (first,)
        return first, Emulator.model_construct(seed=self.seed, **dict(self.second))

    @property
    def ways(self) -> tuple[Emulator, Emulator]:
        """Settings of the first link towards the second end, and back, apart from the delay."""
        there = self.model_copy(update={"reverse": None, "second": None})
        own = {} if self.reverse is None else self.reverse.model_dump(exclude={"delay_ms"})
        if any(name in own for name in OF_QUEUE):
            own = {**dict.fromkeys(OF_QUEUE), **own}
        if self.reverse is not None and "rate_Mbps" in own:
            own["trace"] = self.reverse.trace
        if "queue_discipline" in own:
            own = {**dict.fromkeys(OF_DISCIPLINE), **own}
        return there, there.model_copy(update=own)


def least(rates: Iterable[float | None]) -> float | None:
    """The least of the rates that are known."""
    return min((rate for rate in rates if rate is not None), default=None)


class LabLink(Sparse, title="`paths.NAME.link`"):
    """The link of two lab hosts: a veth pair with real kernel parts that model a card.

    Defaults are the card of 2003: RxIntDelay of 64 units of 0.8192 µs (preliminary notes,
    appendix), no offloads, one queue. XPS assigns processors to transmit queues, as drivers of
    present cards do. With ``read_burst_B`` the link has the share of the slower host's bus which
    such reads leave for data (:func:`netlab.bus.pci_x_efficiency`), else all of it. With an
    emulator it models no card.
    """

    left_out = ("read_burst_B",)

    rate_Mbps: Rate | None = key(
        "Rate of each direction, 10⁶ bit/s of frames. Default: the slower bus.", 1000.0, None
    )
    interrupt_delay_us: InterruptDelay = key("Deferral of interrupts, µs.", 52.4288, 52.4288)
    segmentation_offload: bool = key("TSO, GSO and GRO merging.", True, False)
    checksum_offload: bool = key("Checksums by the device.", True, False)
    queues: Queues = key("Pairs of queues; 1 on a link with a rate or a bus.", 2, 1)
    read_burst_B: ReadBurst | None = key(
        "Maximum memory read byte count of a PCI-X card.", 4096, None
    )
    emulator: Emulator | None = key(
        "A long path in place of the cable.", {"rtt_ms": 183.0, "rate_Mbps": 2500}, None
    )

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if self.read_burst_B is not None and self.rate_Mbps is not None:
            reason = "read_burst_B is a share of the bus, which rate_Mbps replaces: give one"
            raise ValueError(reason)
        for name in type(self).model_fields if self.emulator is not None else ():
            if name != "emulator" and not is_default(self, name):
                raise ValueError(f"a link with an emulator models no card: it takes no {name}")
        return self

    @property
    def shaped_Mbps(self) -> tuple[float | None, float | None]:
        """Rates that the link itself is given, there and back, 10^6 bit/s; None without one.

        Of two links in a row that of the slower one.
        """
        if self.emulator is None:
            return self.rate_Mbps, self.rate_Mbps
        there, back = zip(*self.rates_Mbps, strict=True)
        return least(there), least(back)

    @property
    def rates_Mbps(self) -> tuple[tuple[float | None, float | None], ...]:
        """Rates of each emulated link, there and back, from the first end of the path on."""
        links = () if self.emulator is None else self.emulator.links
        return tuple((there.rate_Mbps, back.rate_Mbps) for there, back in (x.ways for x in links))


class Path(Model, title="`paths.NAME`"):
    """An ordered pair of ends and their link, which further senders may share."""

    ends: tuple[End, End] = key(
        "The two ends.", [{"host": "left"}, {"host": "right"}], strict=False
    )
    also: Listed[End] = key(
        "Further hosts that send over the same link, to the second end; see `from` of flows.",
        [{"host": "third"}],
        (),
    )
    link: LabLink | None = key("The link of two lab hosts.", {"rate_Mbps": 1000.0}, None)
    link_MBps: Megabytes | None = key("Rate of a real link, 10⁶ B/s, as a ceiling.", 1250.0, None)

    @model_validator(mode="after")
    def _two_hosts(self) -> Self:
        host = self.ends[0].host
        if host == self.ends[1].host:
            raise ValueError(f"the two ends of a path are different hosts, not {host!r} twice")
        if len(self.also) > MOST_ALSO:
            raise ValueError(f"also: at most {MOST_ALSO} hosts, not {len(self.also)}")
        if twice := [name for name, count in Counter(self.hosts).items() if count > 1]:
            raise ValueError(f"also: {twice[0]!r} is a host of the path already")
        addresses = [ipaddress.ip_address(end.address) for end in self.every_end if end.address]
        for one, other in combinations(addresses, 2):
            if one == other or one.version != other.version:
                of = "all" if self.also else "both"
                rule = f"the data addresses of a path differ and are {of} IPv4 or {of} IPv6"
                raise ValueError(f"{rule}, not {one} and {other}")
        return self

    @model_serializer(mode="wrap")
    def _as_in_a_file(self, serialize: SerializerFunctionWrapHandler) -> dict:
        content = serialize(self)
        # paths without further senders have the digests that they had before there were any
        return content if self.also else {k: v for k, v in content.items() if k != "also"}

    @property
    def every_end(self) -> tuple[End, ...]:
        """The two ends, and those of further senders."""
        return (*self.ends, *self.also)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts of every end, in that order."""
        return tuple(end.host for end in self.every_end)
