"""The result of one end of a run, as its agent reports it.

Each TypedDict is what code reads, and what :mod:`netlab.files.answers` checks. A reader may find
any key missing (``total=False``), as another program than the agent counts less; an agent's answer
must have all of them but those that are `NotRequired`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic_core import core_schema as cs

from netlab.files.answer_fields import (
    COUNT,
    COUNTER,
    OF_STREAM,
    RUN,
    SMALL,
    SPAN,
    TEXT,
    TIME,
    WORD32,
    Fits,
    schema_of,
)

Count = Annotated[int, Fits(COUNT)]
Counter = Annotated[int, Fits(COUNTER)]
OfStream = Annotated[int, Fits(OF_STREAM)]
Small = Annotated[int, Fits(SMALL)]
Span = Annotated[int, Fits(SPAN)]
Text = Annotated[str, Fits(TEXT)]
Time = Annotated[int, Fits(TIME)]
Word32 = Annotated[int, Fits(WORD32)]
RunNumber = Annotated[int, Fits(RUN)]


class Cpu(TypedDict, total=False):
    """Time of a CPU in a span."""

    cpu: Count
    user_us: Count
    nice_us: Count
    system_us: Count
    idle_us: Count
    iowait_us: Count
    irq_us: Count
    softirq_us: Count
    steal_us: Count
    frequency_kHz: NotRequired[Count | None]
    first_frequency_kHz: NotRequired[Count | None]
    throttled: NotRequired[Count | None]


class Softnet(TypedDict, total=False):
    processed: Count
    dropped: Count
    time_squeeze: Count


class Process(TypedDict, total=False):
    """CPU time of the agent."""

    user_us: Count
    system_us: Count


class HostCounts(TypedDict, total=False):
    """Growth of a host's counts in a span, or their values since boot."""

    cpu: list[Cpu]
    interrupts: Count
    context_switches: Count
    softnet: Softnet | None
    process: Process


class CountersSinceBoot(TypedDict, total=False):
    """Counters of an interface."""

    name: Text
    rx_bytes: Counter
    tx_bytes: Counter
    rx_packets: Counter
    tx_packets: Counter
    rx_errors: Counter
    tx_errors: Counter
    rx_dropped: Counter
    tx_dropped: Counter


class InterfaceCounts(TypedDict, total=False):
    """Growth of the counters of an interface."""

    name: Text
    rx_bytes: Count
    tx_bytes: Count
    rx_packets: Count
    tx_packets: Count
    rx_errors: Count
    tx_errors: Count
    rx_dropped: Count
    tx_dropped: Count
    wraps: Count
    reset: bool


class HostClock(TypedDict, total=False):
    step_ns: Span
    drift_ns: Span
    steps: Time
    unsure_ns: Time


class Meter(HostCounts, total=False):
    """Counts of a host in a span of a run."""

    t0_ns: Time
    t1_ns: Time
    clock: HostClock
    interface: InterfaceCounts | None


class Meters(TypedDict, total=False):
    window: Meter
    total: Meter


class OtherProcess(TypedDict, total=False):
    name: Text
    pid: Count
    born_ticks: Count
    cpu_us: Count


class Others(TypedDict, total=False):
    """CPU time of the processes of a host in a run, and the busiest of them."""

    pid: Count
    born_ticks: Count
    cpu_us: Count
    t0_ns: Time
    t1_ns: Time
    top: list[OtherProcess]


class Reading(HostCounts, total=False):
    """Counts of a host since boot, the answer ``meter``."""

    t_ns: Time
    interface: CountersSinceBoot | None
    others: NotRequired[Others | None]


class Tcp(TypedDict, total=False):
    """TCP_INFO and options of a socket."""

    rtt_us: Word32
    rttvar_us: Word32
    min_rtt_us: Word32
    cwnd_segments: Word32
    ssthresh_segments: Word32
    mss_B: Word32
    rcv_mss_B: Word32
    pmtu_B: Word32
    retransmits: Word32
    lost: Word32
    reordering: Word32
    segs_out: Word32
    segs_in: Word32
    delivered_ce: Word32
    rcv_space_B: Word32
    snd_wscale: Word32
    rcv_wscale: Word32
    options: Word32
    notsent_B: Word32
    peer_window_B: Word32
    busy_us: OfStream
    rwnd_limited_us: OfStream
    sndbuf_limited_us: OfStream
    bytes_acked: OfStream
    bytes_received: OfStream
    bytes_sent: OfStream
    bytes_retransmitted: OfStream
    delivery_rate_Bps: OfStream


class DatagramCounts(TypedDict, total=False):
    """Datagrams of a stream."""

    sent: OfStream
    skipped: OfStream
    received: OfStream
    lost: OfStream
    reordered: OfStream
    duplicates: OfStream
    invalid: OfStream
    bursts: OfStream
    burst_max: OfStream
    jitter_ns: OfStream
    socket_drops: OfStream


class StreamEnd(TypedDict, total=False):
    """One stream at one end."""

    stream: Word32
    bytes: OfStream
    window_bytes: OfStream
    calls: OfStream
    t_first_ns: Time
    t_last_ns: Time
    t_end_ns: Time
    sndbuf_start_B: OfStream
    rcvbuf_start_B: OfStream
    sndbuf_B: OfStream
    rcvbuf_B: OfStream
    cwnd_start_segments: OfStream
    cwnd_t0_segments: OfStream
    cwnd_max_segments: OfStream
    sampled_us: OfStream
    idle_us: OfStream
    closed_us: OfStream
    pacing_Bps: OfStream
    dscp: OfStream
    mss_B: OfStream
    nodelay: OfStream
    busy_poll_us: OfStream
    moves: OfStream
    cpu: Word32 | None
    incoming_cpu: Word32 | None
    napi_id: Word32 | None
    congestion: Text
    errno: Small
    udp: DatagramCounts | None
    tcp: Tcp | None
    tcp_t1: Tcp | None


class Phase(TypedDict, total=False):
    """Probes of the latency in one phase of a run."""

    sent: Word32
    received: Word32
    reordered: Word32
    duplicates: Word32
    t_ns: list[Time]
    rtt_us: list[Word32 | None]
    arrived_ns: list[Time | None]


def _whole_phase(phase: dict[str, Any]) -> dict[str, Any]:
    times = (phase["rtt_us"], phase["arrived_ns"])
    if {phase["sent"], *map(len, times)} != {len(phase["t_ns"])}:
        raise ValueError("its lists differ in length")
    if any((rtt_us is None) != (at_ns is None) for rtt_us, at_ns in zip(*times, strict=True)):
        raise ValueError("an answer has an RTT or a time of arrival alone")
    return phase


WHOLE_PHASE = cs.no_info_after_validator_function(_whole_phase, schema_of(Phase))
WholePhase = Annotated[Phase, Fits(WHOLE_PHASE)]


class AnsweredProbes(TypedDict, total=False):
    """Probes that a sink answered."""

    interval_ms: Count
    foreign: Count
    invalid: Count
    dropped: Count
    clock_steps: Count
    answered: NotRequired[Count]
    sent: NotRequired[Count]
    idle: NotRequired[WholePhase]
    warmup: NotRequired[WholePhase]
    loaded: NotRequired[WholePhase]
    after: NotRequired[WholePhase]


class SentProbes(TypedDict, total=False):
    """Probes that a gen sent."""

    interval_ms: Count
    sent: Count
    foreign: Count
    invalid: Count
    dropped: Count
    clock_steps: Count
    idle: WholePhase
    warmup: WholePhase
    loaded: WholePhase
    after: WholePhase


class UsedPolicy(TypedDict, total=False):
    """Policy of sends and reads that an end used."""

    batch_B: Count | None
    yield_B: Count | None
    read_delay: bool
    sched_batch: bool
    spread: bool
    spread_errno: Count


class ZeroCopy(TypedDict, total=False):
    copied_bytes: Count
    completed_bytes: NotRequired[Count]
    mapped_bytes: NotRequired[Count]


class Window(TypedDict, total=False):
    t0_ns: Time
    t1_ns: Time
    bytes: Count


Numbers = Annotated[Any, Fits(cs.list_schema(TIME, strict=True))]
"""Times as a list; as an array where they came in parts."""

ROWS = cs.list_schema(cs.list_schema(OF_STREAM, strict=True), strict=True)
Rows = Annotated[Any, Fits(ROWS)]
"""A row a stream, in lists; a table where they came in parts."""


class SampledBytes(TypedDict, total=False):
    """Bytes so far of each stream, interval by interval."""

    interval_ms: Count
    t_ns: NotRequired[Numbers]
    bytes: NotRequired[Rows]
    count: NotRequired[Word32]
    parts: NotRequired[Word32]


class Trace(TypedDict, total=False):
    rtt_us: NotRequired[Rows]
    cwnd_segments: NotRequired[Rows]
    retransmits: NotRequired[Rows]


Card = Annotated[dict[str, int], Fits(cs.dict_schema(TEXT, COUNT, strict=True))]
"""Growth of the counters that an interface's driver has."""

STATUS = cs.literal_schema(["ok", "stopped", "timeout", "error"])


class EndResult(TypedDict, total=False):
    """Keys that the results of both ends have."""

    run: RunNumber
    status: Annotated[str, Fits(STATUS)]
    code: Text | None
    message: Text | None
    streams: Word32
    engine: Text
    threads: Word32
    policy: UsedPolicy
    zerocopy: ZeroCopy | None
    t_go_ns: Time
    t_first_byte_ns: Time
    t_last_byte_ns: Time
    window: Window
    total_bytes: Count
    interval_sum_bytes: Count
    watch_cpu_us: Count
    watch_late_us: Count
    waited_us: Count
    per_stream: list[StreamEnd]
    samples: SampledBytes
    trace: Trace | None
    meter: Meters | None
    others: Others | None
    card: Card | None


class GenResult(EndResult, total=False):
    t_let_go_ns: Time
    send: Text
    latency: SentProbes | None
    latency_tcp: SentProbes | None


class Rejected(TypedDict, total=False):
    """Connections and datagrams that a sink refused, by reason."""

    short: Count
    magic: Count
    version: Count
    run: Count
    stream: Count
    token: Count
    twice: Count
    late: Count
    address: Count
    evicted: Count
    datagrams: Count


class SinkResult(EndResult, total=False):
    accepted: Word32
    rejected: Rejected
    receive: Text
    latency: AnsweredProbes | None
    latency_tcp: AnsweredProbes | None


class ToolMeter(Meter, total=False):
    """A meter beside a tool, from two readings of its host's agent."""

    controller_us: float
    """CPU time of the controller, which ran the tool, on this host."""


class SentEnd(GenResult, total=False):
    """A sender's result, of an agent or of another tool."""

    losses_unknown: bool
    """The tool does not count what it sent again."""
    own_cpu_whole: bool
    """The CPU time of the tool is known of its whole life alone."""


class ReadEnd(SinkResult, total=False):
    """A receiver's result, of an agent or of another tool."""

    unsure_bytes: int
    """Most by which the bytes of the tool, which are an estimate, may be wrong."""


DatagramKey = (
    Literal["sent", "skipped", "received", "lost", "reordered", "duplicates", "invalid"]
    | Literal["bursts", "burst_max", "jitter_ns", "socket_drops"]
)
PhaseName = Literal["idle", "warmup", "loaded", "after"]
ProbeWay = Literal["latency", "latency_tcp"]
"""A probe by datagrams, and one over TCP."""
TcpKey = (
    Literal["bytes_acked", "bytes_received", "rtt_us", "min_rtt_us", "mss_B", "cwnd_segments"]
    | Literal["snd_wscale", "retransmits", "delivered_ce", "busy_us", "rwnd_limited_us"]
    | Literal["sndbuf_limited_us"]
)
InterfaceKey = Literal["rx_bytes", "tx_bytes", "rx_dropped", "tx_dropped", "wraps"]
TraceName = Literal["rtt_us", "cwnd_segments", "retransmits"]
ProcessorTime = (
    Literal["user_us", "nice_us", "system_us", "idle_us", "iowait_us"]
    | Literal["irq_us", "softirq_us", "steal_us"]
)
