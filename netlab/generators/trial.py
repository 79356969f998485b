"""One run of a study by another tool: server and client on their hosts, meters around them."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from netlab.errors import RunError
from netlab.generators.answers import audit_counts, flow_of, is_complete, parse_answers
from netlab.generators.meters import Readings, received_B, snapshot
from netlab.generators.remote_process import LISTEN_S, Exit, RemoteProcess
from netlab.generators.route import congestion_route
from netlab.generators.tools import Tool, TransferRequest
from netlab.hosts.host import Host
from netlab.measure.exchange import Outcome, Request, Side
from netlab.measure.ledger import Ledger, audit_interfaces
from netlab.measure.record import own_us

STEP_S = 0.1
"""The tools report no more often than this."""

SLACK_S = 10.0
"""What a client may take beyond its transfer to connect, to drain and to report."""

END_S = 8.0
"""What a server may take to end by itself once its client has."""

GO_B, GO_S, LOOK_S = 65_536, 5.0, 0.02
"""Data flow once a receiving interface took so much; looked for this long, this often."""

SKEW_S = 0.4
"""How far apart the two clients of a run in both directions may start."""

FIRST_PORT, LAST_PORT, PORT_TRIES = 10_000, 30_000, 8
"""Below the ephemeral range; nuttcp takes as many ports as it has streams, and one."""


@dataclass(frozen=True)
class TrialResult:
    """What came of a run by another tool.

    Attributes
    ----------
    outcome : Outcome
        In the shape of a run by the agents.
    ledger : Ledger
        Its counts, as far as the tool tells them.
    columns : dict
        Columns of the results that only this run knows.
    provenance : dict
        What was called, for the record's provenance.
    """

    outcome: Outcome
    ledger: Ledger
    columns: dict = field(default_factory=dict)
    provenance: dict = field(default_factory=dict)


@dataclass(frozen=True)
class _Way:
    """One direction of a run: its ends, what the tool is asked, and its server, which listens."""

    sender: Side
    receiver: Side
    transfer: TransferRequest
    server: RemoteProcess


def run_trial(
    tool: Tool,
    sender: Side,
    receiver: Side,
    request: Request,
    *,
    hosts: Mapping[str, Host],
    versions: Mapping[str, str],
    mtu_B: int,
    one_machine: bool,
    ports: random.Random | None = None,
) -> TrialResult:
    """Make one run with another tool; in both directions it is called twice at the same time.

    Parameters
    ----------
    tool : Tool
        One that can make runs of a study.
    sender, receiver : Side
        Ends of the forward direction; their agents are read as meters.
    request : Request
        What to run. The warm-up is cut off by the receiver's own intervals, not by an option.
    hosts, versions : mapping
        By the names of the ends: how each is reached, and its version of the tool.
    mtu_B : int
        MTU of the path.
    one_machine : bool
        Whether both ends are on the machine that this runs on.
    ports : random.Random, optional
        Draws the ports to try.

    Raises
    ------
    RunError
        An end failed, was killed, did not end in time, or printed what cannot be read.
    HostError
        An end is gone. In either case nothing is left running.
    """
    started_unix_ns, started, own_s = time.time_ns(), time.monotonic(), time.process_time()
    ways = [(sender, receiver)] + ([(receiver, sender)] if request.both else [])
    seconds = _seconds(tool, request)
    draw = ports or random.Random()
    with ExitStack() as stack:
        if not tool.reporting.sets_congestion:
            for of, to in ways:
                stack.enter_context(
                    congestion_route(
                        hosts[of.host],
                        interface=of.interface,
                        address=of.address,
                        peer=to.address,
                        congestion=of.congestion or request.congestion,
                    )
                )
        open_ways = [
            _served(stack, tool, hosts[to.host], of, to, request, seconds, draw) for of, to in ways
        ]
        before = {side.host: snapshot(side) for side in (sender, receiver)}
        clients = [
            stack.enter_context(_client(tool, hosts[way.sender.host], way)) for way in open_ways
        ]
        opens, closes = _window(open_ways, clients, before, request)
        sent = [client.result() for client in clients]
        after = {side.host: snapshot(side) for side in (sender, receiver)}

        def complete(text: str) -> bool:
            return is_complete(tool, text, request.streams)

        got = [end_server(way.server, tool, complete) for way in open_ways]
    own_s = time.process_time() - own_s
    meters = {
        name: Readings(before[name], opens[name], closes[name], after[name]).meter()
        for name in before
    }
    spent_s = _spent(open_ways, sent, got)
    for name, meter in meters.items():
        # what the tool spent comes to what the agent of its host did as a meter
        both_us = round(1e6 * spent_s[name] + own_us(meter["total"]))
        meter["total"]["process"] = {"user_us": both_us, "system_us": 0}
        meter["total"]["controller_us"] = 1e6 * own_s * one_machine / len(meters)
    flows, ledger = [], Ledger(error_B=None)
    for way, client, server in zip(open_ways, sent, got, strict=True):
        heard = parse_answers(tool, client.text, server.text, way.transfer)
        gen_meter, sink_meter = meters[way.sender.host], meters[way.receiver.host]
        flow = flow_of(heard, request, way.transfer.interval_s, gen_meter, sink_meter)
        error_B, problems = audit_counts(flow, heard, tool)
        if error_B is not None:
            ledger.error_B = max(error_B, ledger.error_B or 0)
        ledger.problems += problems
        flows.append(flow)
    audit_interfaces(
        ledger, [(flow.gen, flow.sink) for flow in flows], mtu_B=mtu_B, both=request.both
    )
    outcome = Outcome(tuple(flows), started_unix_ns, time.monotonic() - started)
    columns = {
        "engine": tool.name,
        "warmup_s": flows[0].sink["window"]["t0_ns"] / 1e9,
    }
    called = [(tool.program, *way) for way in tool.reporting_arguments(open_ways[0].transfer)]
    provenance = {
        "name": tool.name,
        "versions": dict(versions),
        "server": called[0],
        "client": called[1],
    }
    return TrialResult(outcome, ledger, columns, provenance)


def _seconds(tool: Tool, request: Request) -> float:
    """How long the tool is to send, so that the window lies within it."""
    step_s = max(STEP_S, request.interval_ms / 1e3)
    seconds = (request.warmup_ms + request.window_ms) / 1e3 + 2 * step_s + SKEW_S * request.both
    return math.ceil(seconds) if tool.reporting.whole_seconds else seconds


def _served(
    stack: ExitStack,
    tool: Tool,
    host: Host,
    sender: Side,
    receiver: Side,
    request: Request,
    seconds: float,
    draw: random.Random,
) -> _Way:
    """A server that listens on a port that nobody had."""
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
            threads=1,
            interval_s=max(STEP_S, request.interval_ms / 1e3),
            sndbuf_B=sender.sndbuf_B,
            rcvbuf_B=receiver.rcvbuf_B,
        )
        argv = (tool.program, *tool.reporting_arguments(transfer)[0])
        limit_s = LISTEN_S + seconds + SLACK_S + END_S
        server = stack.enter_context(
            RemoteProcess(host, f"{tool.name}'s server", argv, limit_s=limit_s, port=port)
        )
        if server.wait_listening():
            return _Way(sender, receiver, transfer, server)
    raise RunError(
        f"{host.name}: {PORT_TRIES} ports drawn between {FIRST_PORT} and {LAST_PORT}, all in use",
        reason="in_use",
    )


def _client(tool: Tool, host: Host, way: _Way) -> RemoteProcess:
    argv = (tool.program, *tool.reporting_arguments(way.transfer)[1])
    limit_s = way.transfer.seconds + SLACK_S
    return RemoteProcess(host, f"{tool.name}'s client", argv, limit_s=limit_s)


def _window(
    ways: Sequence[_Way],
    clients: Sequence[RemoteProcess],
    before: dict[str, dict],
    request: Request,
) -> tuple[dict[str, dict], dict[str, dict]]:
    """Snapshots of both hosts at the ends of the window, counted from when data flow.

    A client that ends before its time ends the wait.
    """
    sides = {side.host: side for way in ways for side in (way.sender, way.receiver)}
    deadline = time.monotonic() + GO_S
    waiting = [way.receiver for way in ways]
    while waiting and time.monotonic() < deadline:
        if any(client.wait(LOOK_S / len(clients)) is not None for client in clients):
            break
        waiting = [side for side in waiting if received_B(before[side.host], snapshot(side)) < GO_B]
    clients[0].wait(request.warmup_ms / 1e3)
    opens = {name: snapshot(side) for name, side in sides.items()}
    clients[0].wait(request.window_ms / 1e3)
    return opens, {name: snapshot(side) for name, side in sides.items()}


def end_server(server: RemoteProcess, tool: Tool, is_complete: Callable[[str], bool]) -> Exit:
    """Wait for the exit of a server whose client has exited; terminate one that does not exit.

    Raises
    ------
    RunError
        It failed, or is still there after :data:`END_S`.
    """
    if tool.server_stays:
        server.wait_output(is_complete, END_S)
        server.terminate()
    if server.wait(END_S) is None:
        raise RunError(
            f"{server.what} on {server.host.name}: did not end in time", reason="timeout"
        )
    return server.result()


def _spent(ways: Sequence[_Way], sent: Sequence[Exit], got: Sequence[Exit]) -> dict[str, float]:
    """CPU time of the tool on each host, s."""
    spent_s: dict[str, float] = {}
    for way, client, server in zip(ways, sent, got, strict=True):
        for side, end in ((way.sender, client), (way.receiver, server)):
            spent_s[side.host] = spent_s.get(side.host, 0.0) + end.cpu_s
    return spent_s
