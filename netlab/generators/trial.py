"""One run by an external tool: server and client on their hosts, metered, its counts audited."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from netlab.errors import RunError
from netlab.generators.answers import audit_counts, flow_of, is_complete, parse_answers
from netlab.generators.meters import Readings, received_B, snapshot
from netlab.generators.remote_process import LISTEN_S, Exit, RemoteProcess
from netlab.generators.route import congestion_route
from netlab.generators.tools import Tool, TransferRequest, Variant
from netlab.hosts.host import Host
from netlab.measure.exchange import Request, RunEnd, RunOutcome
from netlab.measure.ledger import Ledger, audit_interfaces
from netlab.measure.record import own_us

STEP_S = 0.1
"""Shortest reporting interval of the tools."""

SLACK_S = 10.0
"""Time for a client to connect, drain and report, beyond its transfer."""

END_S = 8.0
"""Time for a server to exit by itself after its client."""

FLOW_B, FLOW_S, POLL_S = 65_536, 5.0, 0.02
"""Data flow once a receiving interface has counted this much; polling timeout and interval."""

SKEW_S = 0.4
"""Largest delay between the starts of the two clients of a run in both directions."""

FIRST_PORT, LAST_PORT, PORT_TRIES = 10_000, 30_000, 8
"""Below the ephemeral range; nuttcp takes one port more than it has streams."""


@dataclass(frozen=True)
class TrialResult:
    """The result of one run, by netlab or an external tool."""

    outcome: RunOutcome
    ledger: Ledger
    columns: dict = field(default_factory=dict)
    provenance: dict = field(default_factory=dict)


@dataclass(frozen=True)
class _Way:
    """One direction of a run: its ends, its transfer, and its listening server."""

    sender: RunEnd
    receiver: RunEnd
    transfer: TransferRequest
    server: RemoteProcess


def run_trial(
    tool: Tool,
    sender: RunEnd,
    receiver: RunEnd,
    request: Request,
    *,
    hosts: Mapping[str, Host],
    versions: Mapping[str, str],
    mtu_B: int,
    with_controller: Collection[str] = (),
    variant: Variant | None = None,
    ports: random.Random | None = None,
) -> TrialResult:
    """Make one run with an external tool, which runs twice at once for both directions."""
    started_unix_ns, started = time.time_ns(), time.monotonic()
    ways = [(sender, receiver)] + ([(receiver, sender)] if request.both else [])
    brief = variant is not None
    seconds = request.window_ms / 1e3 if brief else _seconds(tool, request)
    calls = _Calls(tool, variant, hosts)
    draw = ports or random.Random()
    with ExitStack() as stack:
        if not tool.sets_congestion:
            for of, to in ways if request.congestion else ():
                stack.enter_context(
                    congestion_route(
                        hosts[of.host],
                        interface=of.interface,
                        address=of.address,
                        peer=to.address,
                        congestion=of.congestion or request.congestion,
                    )
                )
        open_ways = [_served(stack, calls, of, to, request, seconds, draw) for of, to in ways]
        # The clients' hosts are ready first, so that only the tool is metered.
        clients = [stack.enter_context(calls.client(way)) for way in open_ways]
        for client in clients:
            client.wait_ready()
        own_s = time.process_time()
        before = {side.host: snapshot(side) for side in (sender, receiver)}
        for client in clients:
            client.go()
        window = None if brief else _window(open_ways, clients, before, request)
        sent = [client.result() for client in clients]
        for way in open_ways:
            _await_report(way, tool)
        after = {side.host: snapshot(side) for side in (sender, receiver)}
        own_s = time.process_time() - own_s
        got = [end_server(way.server, tool) for way in open_ways]
    opens, closes = window or (before, after)
    meters = {
        name: Readings(before[name], opens[name], closes[name], after[name]).meter()
        for name in before
    }
    spent_s = _spent(open_ways, sent, got)
    for name, meter in meters.items():
        # The tool's CPU time adds to that of its host's agent.
        both_us = round(1e6 * spent_s[name] + own_us(meter["total"]))
        meter["total"]["process"] = {"user_us": both_us, "system_us": 0}
        if name in with_controller:
            meter["total"]["controller_us"] = 1e6 * own_s / len(with_controller)
    flows, ledger = [], Ledger(error_B=None)
    for way, near, far in zip(open_ways, sent, got, strict=True):
        answers = parse_answers(tool, near.text, far.text, way.transfer, brief=brief)
        ends = meters[way.sender.host], meters[way.receiver.host]
        flow = flow_of(answers, request, way.transfer.interval_s, *ends, brief=brief)
        error_B, problems = audit_counts(flow, answers, tool)
        if error_B is not None:
            ledger.error_B = max(error_B, ledger.error_B or 0)
        ledger.problems += problems
        flows.append(flow)
    audit_interfaces(
        ledger, [(flow.gen, flow.sink) for flow in flows], mtu_B=mtu_B, both=request.both
    )
    outcome = RunOutcome(tuple(flows), started_unix_ns, time.monotonic() - started)
    columns = {
        "engine": tool.name,
        "warmup_s": flows[0].sink["window"]["t0_ns"] / 1e9,
    }
    called = calls.lines(open_ways[0].transfer)
    provenance = {
        "name": tool.name,
        "versions": dict(versions),
        "server": called[0],
        "client": called[1],
    }
    return TrialResult(outcome, ledger, columns, provenance)


def _seconds(tool: Tool, request: Request) -> float:
    """Duration of the transfer: warm-up, window and a margin."""
    step_s = max(STEP_S, request.interval_ms / 1e3)
    seconds = (request.warmup_ms + request.window_ms) / 1e3 + 2 * step_s + SKEW_S * request.both
    return math.ceil(seconds) if tool.reporting.whole_seconds else seconds


@dataclass(frozen=True)
class _Calls:
    """The command lines of a tool, in full or of a variant, and the hosts to run them on."""

    tool: Tool
    variant: Variant | None
    hosts: Mapping[str, Host]

    def lines(self, transfer: TransferRequest) -> list[tuple[str, ...]]:
        """Program and arguments of server and client."""
        return [(self.tool.program, *way) for way in self.tool.arguments(transfer, self.variant)]

    def server(self, receiver: RunEnd, transfer: TransferRequest) -> RemoteProcess:
        """Start a server."""
        return RemoteProcess(
            self.hosts[receiver.host],
            f"{self.tool.name}'s server",
            self.lines(transfer)[0],
            limit_s=2 * LISTEN_S + transfer.seconds + SLACK_S + END_S,
            port=transfer.port,
        )

    def client(self, way: _Way) -> RemoteProcess:
        """Prepare a client."""
        return RemoteProcess(
            self.hosts[way.sender.host],
            f"{self.tool.name}'s client",
            self.lines(way.transfer)[1],
            limit_s=way.transfer.seconds + SLACK_S,
            hold=True,
        )


def _served(
    stack: ExitStack,
    calls: _Calls,
    sender: RunEnd,
    receiver: RunEnd,
    request: Request,
    seconds: float,
    draw: random.Random,
) -> _Way:
    """Start a server on a free port."""
    for _ in range(PORT_TRIES):
        port = draw.randrange(FIRST_PORT, LAST_PORT - request.streams - 1)
        transfer = TransferRequest(
            address=receiver.address,
            port=port,
            data_port=port + 1,
            streams=request.streams,
            seconds=seconds,
            record_length_B=request.record_length_B,
            congestion=sender.congestion or request.congestion,
            threads=request.threads or 1,
            interval_s=max(STEP_S, request.interval_ms / 1e3),
            sndbuf_B=sender.sndbuf_B,
            rcvbuf_B=receiver.rcvbuf_B,
        )
        server = stack.enter_context(calls.server(receiver, transfer))
        if server.wait_listening():
            return _Way(sender, receiver, transfer, server)
    raise RunError(
        f"{receiver.host}: {PORT_TRIES} ports drawn between {FIRST_PORT} and {LAST_PORT}, "
        "all in use",
        reason="in_use",
        code="E-TOOL-023",
    )


def _window(
    ways: Sequence[_Way],
    clients: Sequence[RemoteProcess],
    before: dict[str, dict],
    request: Request,
) -> tuple[dict[str, dict], dict[str, dict]]:
    """Snapshots of both hosts at the start and end of the window, which begins as data flow.

    A client that exits early ends the wait.
    """
    sides = {side.host: side for way in ways for side in (way.sender, way.receiver)}
    deadline = time.monotonic() + FLOW_S
    waiting = [way.receiver for way in ways]
    while waiting and time.monotonic() < deadline:
        if any(client.wait(POLL_S / len(clients)) is not None for client in clients):
            break
        waiting = [
            side for side in waiting if received_B(before[side.host], snapshot(side)) < FLOW_B
        ]
    clients[0].wait(request.warmup_ms / 1e3)
    opens = {name: snapshot(side) for name, side in sides.items()}
    clients[0].wait(request.window_ms / 1e3)
    return opens, {name: snapshot(side) for name, side in sides.items()}


def _await_report(way: _Way, tool: Tool) -> None:
    """Wait until the server of a client that has exited has reported."""
    if tool.server_stays:
        way.server.wait_output(lambda text: is_complete(tool, text, way.transfer), END_S)
    else:
        way.server.wait(END_S)


def end_server(server: RemoteProcess, tool: Tool) -> Exit:
    """The exit of a server that has reported; one that stays is terminated."""
    if tool.server_stays:
        server.terminate()
    if server.wait(END_S if tool.server_stays else 0.0) is None:
        raise RunError(
            f"{server.what} on {server.host.name}: did not end in time",
            reason="timeout",
            code="E-TOOL-024",
        )
    return server.result()


def _spent(ways: Sequence[_Way], sent: Sequence[Exit], got: Sequence[Exit]) -> dict[str, float]:
    """CPU time of the tool on each host, s."""
    spent_s: dict[str, float] = {}
    for way, client, server in zip(ways, sent, got, strict=True):
        for side, end in ((way.sender, client), (way.receiver, server)):
            spent_s[side.host] = spent_s.get(side.host, 0.0) + end.cpu_s
    return spent_s
