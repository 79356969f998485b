"""One run by an external tool: server and client on their hosts, metered, its counts audited."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

from netlab.errors import RunError
from netlab.files.run_results import Meters
from netlab.generators.ends import audit_counts, flow_of, is_complete, parse_answers
from netlab.generators.remote_process import LISTEN_S, Exit, RemoteProcess
from netlab.generators.route_congestion import congestion_route
from netlab.generators.tool_meters import difference, snapshot
from netlab.generators.tools import Tool, TransferRequest
from netlab.hosts.host import Host
from netlab.hosts.vrf import called
from netlab.measure.exchange import Request, RunEnd, RunOutcome, datagrams
from netlab.measure.ledger import Ledger, audit_interfaces
from netlab.measure.link_local import without_scope
from netlab.measure.record import own_us
from netlab.outputs.records import Datagrams

STEP_S = 0.1
"""Shortest reporting interval of the tools."""

SLACK_S = 10.0
"""Time for a client to connect, drain and report, beyond its transfer."""

END_S = 8.0
"""Time for a server to exit by itself after its client."""

FLOW_B, FLOW_S, POLL_S = 65_536, 5.0, 0.02
"""Data flow once a receiving interface has counted this much; polling timeout and interval."""

START_S = 0.01
"""Time until a sender of datagrams sends at its rate: less is not counted as skipped."""

SKEW_S = 0.4
"""Largest delay between the starts of the two clients of a run in both directions."""

FIRST_PORT, LAST_PORT, PORT_TRIES = 10_000, 30_000, 8
"""Below the ephemeral range; nuttcp takes one port more than it has streams."""


@dataclass(frozen=True)
class TrialResult:
    outcome: RunOutcome
    ledger: Ledger
    columns: dict = field(default_factory=dict)
    provenance: dict = field(default_factory=dict)


@dataclass(frozen=True)
class _Way:
    """One direction of a run: its ends, its transfer and command lines, its listening server."""

    sender: RunEnd
    receiver: RunEnd
    transfer: TransferRequest
    server: RemoteProcess
    lines: list[tuple[str, ...]]


def run_trial(
    tool: Tool,
    sender: RunEnd,
    receiver: RunEnd,
    request: Request,
    *,
    hosts: Mapping[str, Host],
    versions: Mapping[str, str | None],
    mtu_B: int,
    with_controller: Collection[str] = (),
    ports: random.Random | None = None,
) -> TrialResult:
    """Make one run with an external tool, which runs twice at once for both directions."""
    started_unix_ns, started = time.time_ns(), time.monotonic()
    ways = [(sender, receiver)] + ([(receiver, sender)] if request.both else [])
    seconds = _seconds(tool, request)
    draw = ports or random.Random()
    with ExitStack() as stack:
        if not tool.sets_congestion:
            for of, to in ways if request.congestion else ():
                stack.enter_context(
                    congestion_route(
                        hosts[of.host],
                        interface=of.interface,
                        address=without_scope(of.address),
                        peer=without_scope(to.address),
                        congestion=of.congestion or request.congestion,
                        vrf=of.vrf,
                    )
                )
        open_ways = []
        for of, to in ways:
            transfer = TransferRequest(
                address=of.address_of(to),
                port=0,
                data_port=0,
                streams=request.streams,
                seconds=seconds,
                record_length_B=request.record_length_B,
                congestion=of.congestion or request.congestion,
                threads=request.threads or 1,
                interval_s=max(STEP_S, request.interval_ms / 1e3),
                sndbuf_B=of.sndbuf_B,
                rcvbuf_B=to.rcvbuf_B,
                send=request.send,
                receive=request.receive,
                pacing_bps=round((request.socket.pacing_MBps or 0) * 8e6),
                joined=request.udp is not None and request.udp.gso,
            )
            open_ways.append(_served(stack, tool, hosts, of, to, transfer, draw))
        # The clients' hosts are ready first, so that only the tool is metered.
        clients = [
            stack.enter_context(
                RemoteProcess(
                    hosts[way.sender.host],
                    f"{tool.name}'s client",
                    way.lines[1],
                    limit_s=way.transfer.seconds + SLACK_S,
                    hold=True,
                    vrf=way.sender.vrf,
                )
            )
            for way in open_ways
        ]
        for client in clients:
            client.wait_ready()
        own_s = time.process_time()
        before = {side.host: snapshot(side) for side in (sender, receiver)}
        for client in clients:
            client.go()
        opens, closes = _window(open_ways, clients, before, request)
        sent = [client.result() for client in clients]
        for way in open_ways:
            if tool.server_stays:
                way.server.wait_output(partial(is_complete, tool, asked=way.transfer), END_S)
            else:
                way.server.wait(END_S)
        after = {side.host: snapshot(side) for side in (sender, receiver)}
        own_s = time.process_time() - own_s
        got = [end_server(way.server, tool) for way in open_ways]
    spent_s = dict.fromkeys(before, 0.0)
    for way, near, far in zip(open_ways, sent, got, strict=True):
        spent_s[way.sender.host] += near.cpu_s
        spent_s[way.receiver.host] += far.cpu_s
    meters: dict[str, Meters] = {}
    for name in before:
        total = difference(before[name], after[name])
        meters[name] = {"window": difference(opens[name], closes[name]), "total": total}
        # The tool's CPU time adds to that of its host's agent.
        both_us = round(1e6 * spent_s[name] + own_us(total))
        total["process"] = {"user_us": both_us, "system_us": 0}
        if name in with_controller:
            total["controller_us"] = 1e6 * own_s / len(with_controller)
    flows, notes, counts, ledger = [], [], [], Ledger(error_B=None)
    for way, near, far in zip(open_ways, sent, got, strict=True):
        answers = parse_answers(tool, near.text, far.text, way.transfer)
        ends = meters[way.sender.host], meters[way.receiver.host]
        flow = flow_of(answers, request, way.transfer.interval_s, *ends)
        error_B, problems = audit_counts(flow, answers, tool)
        if error_B is not None:
            ledger.error_B = max(error_B, ledger.error_B or 0)
        ledger.problems += problems
        flows.append(flow)
        notes.append(answers.receiver.forward.note)
        if counted := answers.receiver.forward.datagrams:
            due = way.transfer.pacing_bps * way.transfer.streams * (seconds - START_S) / 8
            gave = datagrams("sent", flow.gen)
            skipped = max(0, round(due / request.record_length_B) - gave)
            counts.append(replace(counted, sent=gave, skipped=skipped))
    audit_interfaces(
        ledger, [(flow.gen, flow.sink) for flow in flows], mtu_B=mtu_B, both=request.both
    )
    outcome = RunOutcome(tuple(flows), started_unix_ns, time.monotonic() - started)
    columns = {"engine": tool.name, "warmup_s": flows[0].sink["window"]["t0_ns"] / 1e9}
    columns["message"] = "; ".join(filter(None, notes))
    if whole := Datagrams.total(counts):
        columns |= whole.columns()
    vrfs = (receiver.vrf, sender.vrf)
    lines = map(called, vrfs, open_ways[0].lines)
    commands = dict(zip(("server", "client"), lines, strict=True))
    lacks = {"sender_lacks_B": ledger.error_B} if ledger.error_B and not tool.reads_all else {}
    provenance = {"name": tool.name, "versions": dict(versions), **commands, **lacks}
    return TrialResult(outcome, ledger, columns, provenance)


def _seconds(tool: Tool, request: Request) -> float:
    step_s = max(STEP_S, request.interval_ms / 1e3)
    edges_s = 2 * step_s * tool.has_intervals + SKEW_S * request.both
    seconds = (request.warmup_ms + request.window_ms) / 1e3 + edges_s
    return math.ceil(seconds) if tool.whole_seconds else seconds


def _served(
    stack: ExitStack,
    tool: Tool,
    hosts: Mapping[str, Host],
    sender: RunEnd,
    receiver: RunEnd,
    transfer: TransferRequest,
    draw: random.Random,
) -> _Way:

    def lines(request: TransferRequest) -> list[tuple[str, ...]]:
        return [(tool.program, *words) for words in tool.arguments(request)]

    for _ in range(PORT_TRIES):
        port = receiver.port or draw.randrange(FIRST_PORT, LAST_PORT - transfer.streams - 1)
        transfer = replace(transfer, port=port, data_port=port + 1)
        process = RemoteProcess(
            hosts[receiver.host],
            f"{tool.name}'s server",
            lines(replace(transfer, address=receiver.own_address))[0],
            limit_s=2 * LISTEN_S + transfer.seconds + SLACK_S + END_S,
            port=port,
            vrf=receiver.vrf,
        )
        server = stack.enter_context(process)
        if server.wait_listening():
            return _Way(sender, receiver, transfer, server, lines(transfer))
    message = (
        f"{receiver.host}: {PORT_TRIES} ports drawn between {FIRST_PORT} and {LAST_PORT}, "
        "all in use"
    )
    raise RunError(message, reason="in_use", code="E-TOOL-023")


def _window(
    ways: Sequence[_Way],
    clients: Sequence[RemoteProcess],
    before: dict[str, dict],
    request: Request,
) -> tuple[dict[str, dict], dict[str, dict]]:
    """Snapshots of both hosts around the window, which begins as data flow or a client exits."""
    sides = {side.host: side for way in ways for side in (way.sender, way.receiver)}
    deadline = time.monotonic() + FLOW_S
    waiting = [way.receiver for way in ways]
    while waiting and time.monotonic() < deadline:
        if any(client.wait(POLL_S / len(clients)) is not None for client in clients):
            break
        waiting = [side for side in waiting if _received_B(before[side.host], side) < FLOW_B]
    clients[0].wait(request.warmup_ms / 1e3)
    opens = {name: snapshot(side) for name, side in sides.items()}
    clients[0].wait(request.window_ms / 1e3)
    return opens, {name: snapshot(side) for name, side in sides.items()}


def _received_B(before: dict, side: RunEnd) -> int:
    """Bytes that an interface has received since a snapshot; 0 without counters."""
    old, new = before.get("interface"), snapshot(side).get("interface")
    return new["rx_bytes"] - old["rx_bytes"] if old and new else 0


def end_server(server: RemoteProcess, tool: Tool) -> Exit:
    """The exit of a server that has reported; one that stays is terminated."""
    if tool.server_stays:
        server.terminate()
    if server.wait(END_S if tool.server_stays else 0.0) is None:
        message = f"{server.what} on {server.host.name}: did not end in time"
        raise RunError(message, reason="timeout", code="E-TOOL-024")
    return server.result()
