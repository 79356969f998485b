"""Protocol of a run with its two agents: requests and answers."""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, cast

import numpy as np

from netlab.errors import HostError, RunError, shown
from netlab.files.run_results import (
    DatagramCounts,
    DatagramKey,
    EndResult,
    Meter,
    Meters,
    ReadEnd,
    SentEnd,
    StreamEnd,
    Tcp,
    TraceName,
    Window,
)
from netlab.measure.link_local import scoped
from netlab.measure.senders import Part, joined
from netlab.study import Latency, Policy, Socket, Udp, flows
from netlab.study.flows import PlannedFlow
from netlab.study.groups import CROSS_S

TAIL_MS = 60
"""Extra time of a timed sender after the nominal window, so that it never ends inside it."""

PROBES = {"udp": 1, "tcp": 2, "both": 3}
"""Option `latency_probe` of a run's agents."""

ACCEPT_MS = 5000
"""Timeout for the streams of a run to connect and start."""

STREAM_MS, STREAMS_MS_MOST = 250, 15_000
"""Further timeout a stream, and of all: a lost SYN is sent again after 1, 3, 7 and 15 s."""

GRACE_S = 5.0
AT_ONCE_S = 0.05
"""Timeout for an answer that is there already."""

FIXED_BYTES_S = 7200.0
"""Timeout of a run of fixed bytes; its agents abort when its streams stall."""


TRACED: tuple[TraceName, ...] = ("rtt_us", "cwnd_segments", "retransmits")
"""Tables of a trace."""

RESULTS = ("gen_result", "sink_result")


def arrival_ms(streams: int) -> int:
    """Timeout for all streams to connect and start, ms.

    Their first packets come at once, so that many overflow a short queue.
    """
    return ACCEPT_MS + min(STREAM_MS * (streams - 1), STREAMS_MS_MOST)


def result_fault(result: EndResult, streams: int) -> str | None:
    """Describe parts of a result that do not fit each other, or a run of so many streams."""
    window, samples = result["window"], result["samples"]
    if len(result["per_stream"]) != streams:
        return f"{len(result['per_stream'])} streams of {streams}"
    if window["t0_ns"] > window["t1_ns"]:
        return f"window {shown(window)}"
    t_ns, counts = samples.get("t_ns"), samples.get("bytes")
    if t_ns is None or counts is None:
        return "no samples"
    tables = {"samples": counts, **(result["trace"] or {})}
    for name, rows in tables.items():
        lengths = [len(row) for row in rows]
        if lengths != [len(t_ns)] * streams and (len(t_ns) or any(lengths)):
            return f"{name} of {len(lengths)} streams that do not fit its {len(t_ns)} times"
    if result["trace"] is not None and not tables.keys() >= {*TRACED}:
        return f"a trace without {' or '.join({*TRACED} - tables.keys())}"
    return None


class AgentChannel(Protocol):
    """A long-lived agent process that takes request lines and answers JSON lines."""

    def send(self, verb: str, **words: str | int | float | bool) -> None:
        """Send one request."""

    def poll(self, timeout_s: float) -> dict | None:
        """The next answer, None if none came in time; raises HostError when the host is gone."""


@dataclass(frozen=True)
class RunEnd:
    host: str
    channel: AgentChannel
    address: str
    interface: str
    sndbuf_B: int
    rcvbuf_B: int
    congestion: str | None = None
    cpus: str | None = None
    may_force: bool = True
    bind_address: str = ""  # the host's own, where the other end reaches it by another
    ports: range | None = None
    boot_id: str | None = None
    vrf: str = ""

    @property
    def own_address(self) -> str:
        return scoped(self.bind_address or self.address, self.interface)

    def address_of(self, other: RunEnd) -> str:
        """The address by which this host reaches another end."""
        return scoped(other.address, self.interface)

    @property
    def port(self) -> int:
        """A port for a sink; 0 for one that the kernel chooses."""
        return secrets.choice(self.ports) if self.ports else 0

    def congestion_of(self, request: Request) -> str:
        """Return the names in the agent's format: separated by commas, ``-`` for the host's own."""
        return (self.congestion or request.congestion or "-").replace("+", ",")


FIREWALL = (
    "; if a firewall lies between: `port` of the path's end fixes the TCP ports to open, and "
    "`bind_address` is the host's own address behind NAT"
)
UNANSWERED = re.compile(r" port \d+ did not answer within ")
"""Error of an agent whose packets to a port are dropped, or their answers."""

KERNELS_OWN = Socket()
"""No option of sockets or threads."""

BY_THE_RULES = Policy()
"""Batches, yields and placement as the agents choose them."""

NO_PROBE = Latency()


@dataclass(frozen=True)
class Cross:
    """Datagrams beside the streams of a run, from its sender to its receiver."""

    rate_Bps: int
    record_length_B: int


@dataclass(frozen=True)
class Request:
    """Parameters of a run for both agents, besides the ends.

    With `bytes_per_stream` the run lasts until they have arrived on every stream; `warmup_ms`
    and `window_ms` are then 0. `engine`, `threads`, `send`, `receive`, `socket`, `policy` and
    `latency` are as in a study; the CPUs of `socket` are ignored in favour of each side's own. With
    `udp` the records are datagrams. `cross` needs a window.
    """

    streams: int
    record_length_B: int
    congestion: str
    force_buffer: bool
    receive: str
    warmup_ms: int
    window_ms: int
    interval_ms: int
    both: bool
    trace: bool = False
    bytes_per_stream: int = 0
    drain_ms: int = 5000
    engine: str = "auto"
    threads: int = 0
    send: str = "copy"
    socket: Socket = KERNELS_OWN
    policy: Policy = BY_THE_RULES
    latency: Latency = NO_PROBE
    udp: Udp | None = None
    flows: tuple[PlannedFlow, ...] = ()
    cross: Cross | None = None


@dataclass(frozen=True)
class Direction:
    gen: SentEnd
    sink: ReadEnd
    parts: tuple[Part, ...] = ()
    """Of several sending hosts the part of each, of which `gen` has the streams; else empty."""

    @property
    def gens(self) -> tuple[SentEnd, ...]:
        """Report of each sending host."""
        return tuple(part.gen for part in self.parts) or (self.gen,)


@dataclass(frozen=True)
class RunOutcome:
    """Outcome of a run: one flow for each direction, forward first, and its wall time."""

    flows: tuple[Direction, ...]
    started_unix_ns: int
    wall_s: float
    together_s: tuple[float, float] | None = None
    """Time since the start in which all flows are on; None where they last as long as the run."""
    cross: Direction | None = None
    """The datagrams beside the streams; None without."""

    def ends(self) -> Iterator[tuple[str, EndResult]]:
        for flow in self.flows:
            names = [f"sender {part.host}" for part in flow.parts] or ["sender"]
            yield from zip(names, flow.gens, strict=True)
            yield "sink", flow.sink


MeterPart = Literal["window", "total"]
METERS: tuple[MeterPart, ...] = ("window", "total")


def meter_of(result: EndResult, part: MeterPart) -> Meter:
    """A meter of an end; empty without one."""
    return (result.get("meter") or Meters()).get(part) or Meter()


def window_of(result: EndResult) -> Window:
    """The window of an end; empty of one that did not come so far."""
    return result.get("window") or Window()


def tcp_of(stream: StreamEnd) -> Tcp:
    """Counts of TCP of a stream; empty without it."""
    return stream.get("tcp") or Tcp()


def datagrams_of(result: EndResult) -> list[DatagramCounts]:
    """Counts of the datagrams of each stream of an end; empty for TCP."""
    return [udp for stream in result["per_stream"] if (udp := stream.get("udp"))]


def datagrams(name: DatagramKey, *results: EndResult) -> int:
    """One of these counts, of all streams of some ends."""
    return sum(stream[name] for result in results for stream in datagrams_of(result))


KEYS = {
    "record_B": "record_length_B",
    "pacing_Bps": "socket.pacing_MBps",
    **dict.fromkeys(("starts_ms", "ends_ms", "pacings_Bps", "source_ports"), "flows"),
    "fragment": "`udp: {fragment: true}`",
    **{name: f"socket.{name}" for name in ("dscp", "mss_B", "nodelay", "busy_poll_us")},
    **{name: f"udp.{name}" for name in ("gso", "gro", "kernel_pacing")},
}
"""Keys of a study, by the options of the agents that their messages name."""

_OPTION = re.compile(rf"(?<![\w.])({'|'.join(KEYS)})(?=[:,) ]|$)")


WAITED = re.compile(r"did not release the streams|the sink closed stream \d+ before its start")
"""Words of a sender whose streams are connected, and those of others are not."""

SILENT = "no {} in time"
"""Words for an agent that did not answer, after the name of its host."""


def silent_host(message: str) -> str:
    """The host whose agent did not answer, by the message of a run; empty for any other message."""
    found = re.fullmatch(rf"(.+?): {SILENT.format('[a-z_]+')}", message)
    return found[1] if found else ""


class _Inbox:
    """Answers of one agent in any order; both directions of a run share it."""

    def __init__(self, side: RunEnd, runs: Mapping[int, int], now: Callable[[], float]):
        """Of these runs, each with its number of streams."""
        self._side, self._runs, self._streams, self._now = side, frozenset(runs), runs, now
        self._stored: dict[tuple[str, int], dict] = {}
        self._parts: dict[tuple[str, int], list[dict]] = {}

    def wait(self, event: str, run: int, deadline: float) -> dict:
        """The answer `event` to `run`; raises RunError at an error or when time is up."""
        while (event, run) not in self._stored:
            self._take(event, deadline)
        return self._checked(self._stored.pop((event, run)))

    def reached(self, step: str, run: int, deadline: float) -> None:
        """Wait until a sink says so, or has ended, of which its result tells."""
        while not self._stored.keys() & {(step, run), ("sink_result", run)}:
            self._take(step, deadline)

    def fault(self, run: int) -> RunError | None:
        """The error that has come to a run, if any, without a wait."""
        try:
            self.wait("gen_result", run, self._now() + AT_ONCE_S)
        except RunError as error:
            return None if silent_host(str(error)) else error
        return None

    def _take(self, event: str, deadline: float) -> None:
        """Take the next answer, if any, while `event` is waited for."""
        left = deadline - self._now()
        if left <= 0:
            message = f"{self._side.host}: {SILENT.format(event)}"
            raise RunError(message, reason="timeout", code="E-MEASURE-001")
        answer = self._side.channel.poll(left)
        if answer is None:
            return
        kind, of = answer.get("event"), answer.get("run")
        if kind == "error" and (of is None or of in self._runs):
            code = str(answer.get("code") or "internal")
            message = str(answer.get("message") or code)
            if message.startswith("connect to") or UNANSWERED.search(message):
                message += FIREWALL
            message = _OPTION.sub(lambda option: KEYS[option[0]], message)
            raise RunError(f"{self._side.host}: {message}", reason=code, code="E-MEASURE-002")
        if kind == "samples" and of in self._runs:
            self._parts.setdefault((f"{answer.get('role')}_result", of), []).append(answer)
        elif of in self._runs:  # else the late echo of an earlier, abandoned run
            self._stored[str(kind), of] = answer

    def _checked(self, answer: dict) -> dict:
        if answer["event"] not in RESULTS:
            return answer
        if "parts" in answer["samples"]:
            self._assemble(answer)
        if fault := result_fault(cast(EndResult, answer), self._streams[answer["run"]]):
            message = f"{self._side.host}: its {answer['event']} has {fault}"
            raise RunError(message, reason="peer", code="E-MEASURE-008")
        return answer

    def _assemble(self, answer: dict) -> None:
        """Fill in the samples and the trace of a result that came in parts."""
        samples = answer["samples"]
        tables: dict[str, list[np.ndarray]] = {}
        parts = self._parts.pop((answer["event"], answer["run"]), [])
        try:
            if len(parts) != samples["parts"]:
                raise ValueError(f"{len(parts)} parts")
            for part in parts:
                filled = tables.setdefault(part["table"], [])
                if part["first"] != sum(map(len, filled)):
                    raise ValueError("a gap")
                filled.append(np.asarray(part["values"], dtype=np.int64))
            rows = {
                name: np.concatenate(filled).reshape(-1, samples["count"])
                for name, filled in tables.items()
            }
            if len(rows["t_ns"]) != 1:
                raise ValueError("no times")
            samples["t_ns"], samples["bytes"] = rows.pop("t_ns")[0], rows.pop("bytes")
            if answer["trace"] is not None:
                answer["trace"] = {name: rows[name] for name in TRACED}
        except (KeyError, TypeError, ValueError) as error:
            message = (
                f"{self._side.host}: the samples of its {answer['event']} are incomplete: {error}"
            )
            raise RunError(message, reason="peer", code="E-MEASURE-007") from error


Words = dict[str, str | int | float | bool]


def _asked(side: RunEnd, request: Request, *, to: RunEnd | None = None) -> Words:
    """Return the words of an end, a gen with `to`; options at their default are left out."""

    def switch(value: bool | str) -> str:
        return value if isinstance(value, str) else "on" if value else "off"

    socket, policy = request.socket, request.policy
    words: Words = {
        "engine": request.engine,
        "threads": request.threads,
        "dscp": socket.dscp,
        "mss_B": socket.mss_B or 0,
        "nodelay": int(socket.nodelay),
        "busy_poll_us": socket.busy_poll_us,
        "follow_incoming_cpu": int(socket.follow_incoming_cpu),
        "cpus": side.cpus or "",
        "batch_B": str(policy.batch_B),
        "sched_batch": switch(policy.sched_batch),
        "spread": switch(policy.spread),
    }
    if request.latency.probe != "none":
        words |= {
            "latency_probe": PROBES[request.latency.probe],
            "latency_interval_ms": request.latency.interval_ms,
            "latency_idle_ms": round(1e3 * Latency.around_s),
            "latency_dscp": request.latency.dscp,
        }
    if request.udp is not None:
        names = ("gro",) if to is None else ("gso", "kernel_pacing", "fragment")
        words |= {"udp": 1, **{name: int(getattr(request.udp, name)) for name in names}}
    words["ends_ms"] = flows.dealt(request.flows, (1e3 * (f.end_s or 0) for f in request.flows))
    if to is None:
        words["read_delay"] = switch(policy.read_delay)
    else:
        # a yield is for a sink on the same CPUs; elsewhere it only gives them to others
        remote = side.boot_id and to.boot_id and side.boot_id != to.boot_id
        yields = request.engine != "plain" and request.udp is None and policy.yield_B == "auto"
        words |= {
            "send": "" if request.send == "copy" else request.send,
            **_pacing(request),
            **_ports_of_flows(request),
            "starts_ms": flows.dealt(request.flows, (1e3 * f.start_s for f in request.flows)),
            "trace": int(request.trace),
            "yield_B": "never" if remote and yields else str(policy.yield_B),
        }
    always: Words = {
        "buffer_B": side.sndbuf_B if to else side.rcvbuf_B,
        "force_buffer": int(request.force_buffer and side.may_force),
        "congestion": side.congestion_of(request),
        "interface": side.interface,
        "record_B": request.record_length_B,
    }
    for key in ("streams", "warmup_ms", "interval_ms", "drain_ms"):
        always[key] = getattr(request, key)
    return always | {key: value for key, value in words.items() if value not in ("auto", "", 0)}


def _pacing(request: Request) -> Words:
    """One rate of all streams, or one of each where flows have their own."""
    own, of_all = [flow.pacing_MBps for flow in request.flows], request.socket.pacing_MBps or 0.0
    if own.count(None) == len(own):
        return {"pacing_Bps": round(1e6 * of_all)}
    each = (1e6 * (of_all if one is None else one) for one in own)
    return {"pacings_Bps": flows.dealt(request.flows, each)}


def _ports_of_flows(request: Request) -> Words:
    """Source ports by which the path's emulator knows the flow of a packet."""
    if not (ports := flows.source_ports(request.flows)):
        return {}
    span = flows.port_span(request.flows)
    return {"source_ports": flows.dealt(request.flows, ports), "source_span": span}


@dataclass(frozen=True)
class _Transfer:
    """A gen and a sink: one direction of a run, or its cross traffic.

    With `also` these hosts send some of the streams, as the flows of the request say.
    """

    of: RunEnd
    to: RunEnd
    request: Request
    run: int
    token: str
    tail_ms: int = TAIL_MS
    await_ms: int = 0
    """Timeout for the others of the run to connect, before all are started; 0: it starts alone."""
    also: tuple[RunEnd, ...] = ()

    @property
    def senders(self) -> tuple[RunEnd, ...]:
        return (self.of, *self.also)

    def streams_of(self, side: RunEnd) -> tuple[int, ...]:
        """The streams that a host sends."""
        request = self.request
        if not self.also:
            return tuple(range(request.streams))
        return flows.streams_sent_by(request.flows, request.streams, self.of.host, side.host)

    def listen(self, port: int) -> None:
        request = self.request
        words: Words = {"bind": self.to.own_address, "from": self.to.address_of(self.of)}
        if self.also:
            words["also_from"] = ",".join(map(self.to.address_of, self.also))
        if port:
            words["port"] = port
        accept_ms = arrival_ms(request.streams) + round(1e3 * request.latency.extra_s)
        words |= {"receive": request.receive, "accept_ms": accept_ms}
        if self.await_ms:
            words["await_start_ms"] = self.await_ms
        words |= {"window_ms": request.window_ms, **_asked(self.to, request)}
        self.to.channel.send("sink", run=self.run, token=self.token, **words)

    def send(self, port: int) -> None:
        for number, side in enumerate(self.senders):
            self._send_from(side, number, port)

    def _send_from(self, side: RunEnd, number: int, port: int) -> None:
        request = self.request
        words: Words = {"to": side.address_of(self.to), "from": side.own_address, "port": port}
        words["connect_ms"] = arrival_ms(request.streams) + self.await_ms
        if request.bytes_per_stream:
            words["bytes"] = request.bytes_per_stream
        else:
            words |= {"window_ms": request.window_ms, "tail_ms": self.tail_ms}
        words |= _asked(side, self._own(side), to=self.to)
        if self.also:
            words |= self._own_words(side, number)
        side.channel.send("gen", run=self.run, token=self.token, **words)

    def _own(self, side: RunEnd) -> Request:
        """The request with the streams of one host alone."""
        if not self.also:
            return self.request
        own = flows.sent_by(self.request.flows, self.of.host, side.host)
        return replace(self.request, streams=len(self.streams_of(side)), flows=own)

    def _own_words(self, side: RunEnd, number: int) -> Words:
        """Words by which the sink knows the streams of a host, and an emulator their flows."""
        of_all = self.request.flows
        is_own = [(flow.from_ or self.of.host) == side.host for flow in of_all]
        words: Words = {"own_streams": flows.dealt(of_all, map(int, is_own)), "sender": number}
        if ports := flows.source_ports(of_all):
            own = [port for port, mine in zip(ports, is_own, strict=True) if mine]
            planned = flows.sent_by(of_all, self.of.host, side.host)
            words |= {"source_ports": flows.dealt(planned, own)}
            words |= {"source_span": flows.port_span(of_all)}
        return words

    def result(self, inboxes: Mapping[str, _Inbox], deadline: float) -> Direction:
        """Wait for the results of both ends, of every sender."""
        try:
            gens = [
                cast(SentEnd, inboxes[side.host].wait("gen_result", self.run, deadline))
                for side in self.senders
            ]
        except RunError as error:
            raise self._cause(error, inboxes) from None
        sink = cast(ReadEnd, inboxes[self.to.host].wait("sink_result", self.run, deadline))
        if not self.also:
            return Direction(gens[0], sink)
        parts = tuple(
            Part.of(side.host, gen, sink, self.streams_of(side))
            for side, gen in zip(self.senders, gens, strict=True)
        )
        return Direction(joined(parts), sink, parts)

    def start(self) -> None:
        self.to.channel.send("start", run=self.run)

    def _cause(self, error: RunError, inboxes: Mapping[str, _Inbox]) -> RunError:
        """The failure that others wait for: of a sender whose streams did not connect."""
        if not WAITED.search(str(error)):
            return error
        faults = (inboxes[side.host].fault(self.run) for side in self.senders)
        return next((f for f in faults if f is not None and not WAITED.search(str(f))), error)

    def stop(self) -> None:
        for side in (*self.senders, self.to):
            with contextlib.suppress(HostError, OSError):  # gone: its end of input stops it
                side.channel.send("stop", run=self.run)


def _crossing(request: Request, cross: Cross) -> Request:
    """The request of the datagrams beside the streams of a run, and its probes after them."""
    return Request(
        streams=1,
        record_length_B=cross.record_length_B,
        congestion="",
        force_buffer=False,
        receive="copy",
        warmup_ms=request.warmup_ms,
        window_ms=request.window_ms,
        interval_ms=request.interval_ms,
        both=False,
        drain_ms=request.drain_ms + _cross_tail_ms(request),
        socket=Socket(pacing_MBps=cross.rate_Bps / 1e6),
        udp=Udp(),
    )


def _cross_tail_ms(request: Request) -> int:
    return TAIL_MS + round(1e3 * (CROSS_S + request.latency.extra_s / 2))


def _plain(side: RunEnd) -> RunEnd:
    """An end without what a study asks for its streams."""
    return replace(side, congestion=None, sndbuf_B=0, rcvbuf_B=0, cpus=None)


def _transfers(
    sender: RunEnd, receiver: RunEnd, request: Request, run: int, also: Sequence[RunEnd] = ()
) -> tuple[list[_Transfer], _Transfer | None]:
    """The directions of a run, and its cross traffic; of several senders there is one direction.

    A run id names one role per agent, and each transfer has a token of its own.
    """

    def token() -> str:
        return secrets.token_hex(16)

    if also:
        return [_Transfer(sender, receiver, request, run, token(), also=tuple(also))], None
    ways = [(sender, receiver)] + ([(receiver, sender)] if request.both else [])
    made = [_Transfer(*way, request, run + index, token()) for index, way in enumerate(ways)]
    if request.cross is None:
        return made, None
    ends, tail_ms = (_plain(sender), _plain(receiver)), _cross_tail_ms(request)
    crossing = _crossing(request, request.cross)
    beside = _Transfer(*ends, crossing, run + len(ways), token(), tail_ms)
    await_ms = round(1e3 * (GRACE_S + request.latency.extra_s)) + arrival_ms(request.streams)
    return [replace(one, await_ms=await_ms) for one in made], replace(beside, await_ms=await_ms)


def _start_with(
    cross: _Transfer,
    directions: list[_Transfer],
    inboxes: Mapping[str, _Inbox],
    now: Callable[[], float],
) -> None:
    """Start the datagrams once all streams are connected, and the streams once they are under way.

    Datagrams above the link's rate would drop the first packets of a connection. The start of a
    second direction goes the way of the datagrams, and so before them.
    """
    for one in (cross, *directions):
        inboxes[one.to.host].reached("connected", one.run, now() + one.await_ms / 1e3)
    for one in (*directions[1:], cross, directions[0]):
        one.start()
        inboxes[one.to.host].reached("running", one.run, now() + one.await_ms / 1e3)


def _ports(transfers: list[_Transfer]) -> list[int]:
    """A port for the sink of each, 0 for one that the kernel chooses; no two of a host are one."""
    ports: dict[str, list[int]] = {}
    for transfer in transfers:
        if (side := transfer.to).ports and side.host not in ports:
            count = sum(other.to.host == side.host for other in transfers)
            ports[side.host] = secrets.SystemRandom().sample(side.ports, count)
    return [ports[one.to.host].pop() if one.to.ports else 0 for one in transfers]


def measure(
    sender: RunEnd,
    receiver: RunEnd,
    request: Request,
    *,
    now: Callable[[], float] = time.monotonic,
    run_number: int | None = None,
    also: Sequence[RunEnd] = (),
) -> RunOutcome:
    """Make a run of two ends, or one whose flows further hosts send as well (``also``)."""
    started_unix_ns = time.time_ns()
    started = now()
    run = run_number if run_number is not None else secrets.randbits(63)
    directions, cross = _transfers(sender, receiver, request, run, also)
    transfers = [*([cross] if cross else []), *directions]
    runs = {one.run: one.request.streams for one in transfers}
    inboxes = {side.host: _Inbox(side, runs, now) for side in (sender, receiver)}
    for side in (sender, *also) if also else ():
        inboxes[side.host] = _Inbox(side, {run: len(directions[0].streams_of(side))}, now)
    allowed_s = (request.warmup_ms + request.window_ms) / 1e3 + request.latency.extra_s
    if request.bytes_per_stream:
        allowed_s = FIXED_BYTES_S
    try:
        for one, port in zip(transfers, _ports(transfers), strict=True):
            one.listen(port)
        ports = [
            inboxes[one.to.host].wait("listening", one.run, now() + GRACE_S)["port"]
            for one in transfers
        ]
        for one, port in zip(transfers, ports, strict=True):
            one.send(port)
        if cross:
            _start_with(cross, directions, inboxes, now)
        deadline = now() + GRACE_S + allowed_s
        deadline += (transfers[0].tail_ms + arrival_ms(request.streams) + request.drain_ms) / 1e3
        made = [one.result(inboxes, deadline) for one in (*directions, *([cross] if cross else []))]
    except BaseException:
        for one in transfers:
            one.stop()
        raise
    beside = made.pop() if cross else None
    together_s = flows.together_s(request.flows)
    return RunOutcome(tuple(made), started_unix_ns, now() - started, together_s, beside)
