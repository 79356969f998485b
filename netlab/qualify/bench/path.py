"""The lab path that all contenders share, and one metered transfer over it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from netlab.errors import HostError, RunError
from netlab.experiment.endpoint import Endpoint, open_endpoints
from netlab.experiment.lab_pair import RECEIVER, SENDER, lab_pair
from netlab.experiment.measurement import request_of, side_of
from netlab.generators.meters import snapshot
from netlab.generators.tools import Received, TransferRequest, Variant
from netlab.generators.transfer import run_transfer
from netlab.lab.lab import Lab
from netlab.lab.namespaces import ip, tool
from netlab.measure import measure
from netlab.measure.record import goodput_MBps
from netlab.qualify.bench.contenders import OwnVariant
from netlab.qualify.bench.installed import Installed
from netlab.qualify.bench.rounds import BenchCell, Environment, Heat, Turn
from netlab.study import Study, Timing

CONGESTION = "cubic"
HEADERS_B = 20 + 32
"""IPv4 and TCP with timestamps; a veth's receive counter omits the Ethernet header."""

DISAGREEMENT = 0.02
"""Permitted excess of a tool's count over the interface's: rounding and window boundaries."""

FIRST_PORT, PORTS_A_RUN, PORT_SETS = 10_000, 512, 40
"""Below the ephemeral range; a tool takes at most one port per stream."""

WORK = ("user", "nice", "system")
BUSY = (*WORK, "irq", "softirq")
ALL = (*BUSY, "idle", "iowait", "steal")


def bench_study(queues: int) -> Study:
    """Two lab hosts joined by two unshaped paths: with veth's offloads, and without.

    Both links have `queues` pairs of queues.
    """
    links = {
        level: {
            "interrupt_delay_us": 0.0,
            "segmentation_offload": level == "on",
            "checksum_offload": level == "on",
            "queues": queues,
        }
        for level in ("on", "off")
    }
    return lab_pair(
        "bench",
        "netlab beside other tools",
        links,
        [{"name": "bench", "path": "on"}],
        congestion=CONGESTION,
        timing=Timing(rounds=1),
    )


@contextmanager
def open_path(
    study: Study, lab: Lab, environment: Environment, peers: dict[str, Installed]
) -> Iterator[BenchPath]:
    """Set up the path of an environment; revert everything at the end.

    Raises
    ------
    HostError
        An end cannot be reached, or the MTU or the route could not be set.
    """
    with ExitStack() as stack:
        endpoints = stack.enter_context(open_endpoints(study, environment.offloads, lab=lab))
        for endpoint in endpoints.values():
            session = stack.enter_context(endpoint.with_mtu(environment.mtu_B))
            if session.drift():
                raise HostError(
                    endpoint.name,
                    f"did not take an MTU of {environment.mtu_B} B",
                    code="E-BENCH-006",
                )
        sender, receiver = endpoints[SENDER], endpoints[RECEIVER]
        names = {name: lab.namespace(name) for name in (SENDER, RECEIVER)}
        for here, there in ((sender, receiver), (receiver, sender)):
            stack.enter_context(_route_congestion(names[here.name], here, there.address))
        yield BenchPath(study, sender, receiver, peers)


@contextmanager
def _route_congestion(namespace: str, endpoint: Endpoint, peer: str) -> Iterator[None]:
    """Make :data:`CONGESTION` the default of every socket to the peer.

    It applies to tools without an option for it. A route can have an algorithm that the machine
    restricts; the default of a namespace cannot.
    """
    route = (
        *(peer, "dev", endpoint.interface, "proto", "kernel", "scope", "link"),
        *("src", endpoint.address),
    )
    change = ip(namespace, "route", "replace", *route)
    tool((*change, "congctl", CONGESTION), host=endpoint.name)
    try:
        said = tool(ip(namespace, "route", "show", peer), host=endpoint.name)
        if f"congctl {CONGESTION}" not in said:
            raise HostError(
                endpoint.name, f"its route to {peer} did not take {CONGESTION}", code="E-BENCH-007"
            )
        yield
    finally:
        tool(change, host=endpoint.name)


@dataclass(frozen=True)
class MachineUse:
    """Activity of the machine during one transfer; it has both ends."""

    wall_s: float
    busy_s: float
    work_s: float
    all_s: float
    steal_s: float
    payload_B: int

    def row(self, own_s: float) -> dict:
        """Columns of a sample; `own_s` is the CPU time of the contender and the controller."""
        return {
            "wall_s": self.wall_s,
            "payload_B": self.payload_B,
            "busy_s": self.busy_s,
            "cpu_s_per_GB": self.busy_s / self.payload_B * 1e9 if self.payload_B else None,
            "steal_percent": 100 * self.steal_s / self.all_s if self.all_s else None,
            "foreign_percent": (
                100 * max(0.0, self.work_s - own_s) / self.all_s if self.all_s else None
            ),
        }


def machine_use(before: dict, after: dict) -> MachineUse:
    """The difference of two snapshots of the sink's meters.

    Raises
    ------
    RunError
        A snapshot has no interface, or a counter decreased.
    """
    old, new = before.get("interface"), after.get("interface")
    if not old or not new:
        raise RunError("the meter has no interface", reason="internal", code="E-BENCH-008")
    packets = new["rx_packets"] - old["rx_packets"]
    payload_B = new["rx_bytes"] - old["rx_bytes"] - HEADERS_B * packets

    def spent_s(classes: tuple[str, ...]) -> float:
        return (
            sum(
                late[f"{name}_us"] - early[f"{name}_us"]
                for early, late in zip(before["cpu"], after["cpu"], strict=True)
                for name in classes
            )
            / 1e6
        )

    if packets < 0 or payload_B < 0:
        raise RunError("an interface counter decreased", reason="internal", code="E-BENCH-009")
    return MachineUse(
        wall_s=(after["t_ns"] - before["t_ns"]) / 1e9,
        busy_s=spent_s(BUSY),
        work_s=spent_s(WORK),
        all_s=spent_s(ALL),
        steal_s=spent_s(("steal",)),
        payload_B=payload_B,
    )


class BenchPath:
    """An open path that the contenders share; made by :func:`open_path`."""

    def __init__(
        self, study: Study, sender: Endpoint, receiver: Endpoint, peers: dict[str, Installed]
    ):
        self.study, self.sender, self.receiver, self._peers = study, sender, receiver, peers
        self._threads = int(sender.facts.get("cpus") or 1)
        self._sides = side_of(sender), side_of(receiver)

    def take(self, turn: Turn | Heat, variant: OwnVariant | Variant, seconds: int) -> dict:
        """Make one transfer.

        Returns
        -------
        dict
            Its sample; ``error`` is empty if the transfer succeeded.

        Raises
        ------
        HostError
            An end of the path is lost.
        """
        row = {
            **turn.as_dict(),
            "variant": variant.label,
            "record_length_B": variant.record_length_B,
            "started_unix_s": time.time(),
            "goodput_MBps": None,
            "window_s": None,
            "error": "",
        }
        readings: list[tuple[dict, float]] = []

        def meter() -> None:
            readings.append((snapshot(self._sides[1]), time.process_time()))

        try:
            if isinstance(variant, OwnVariant):
                received, own_s = self._gensink(turn.cell, variant, seconds, meter)
            else:
                received, own_s = self._tool(turn, variant, seconds, meter)
            (before, before_s), (after, after_s) = readings
            found = machine_use(before, after)
            row |= found.row(own_s + after_s - before_s)
            said_B = received.goodput_MBps * 1e6 * received.window_s
            if said_B > found.payload_B * (1 + DISAGREEMENT):
                raise RunError(
                    f"counts {said_B / 1e6:.1f} MB, the interface {found.payload_B / 1e6:.1f} MB",
                    reason="peer",
                    code="E-BENCH-010",
                )
            row |= {"goodput_MBps": received.goodput_MBps, "window_s": received.window_s}
        except RunError as error:
            row["error"] = str(error)
        return row

    def _tool(
        self, turn: Turn | Heat, variant: Variant, seconds: int, meter: Callable[[], None]
    ) -> tuple[Received, float]:
        """Transfer with another tool; its result and its CPU time in s."""
        peer = self._peers[turn.contender]
        port = FIRST_PORT + PORTS_A_RUN * (turn.order % PORT_SETS)
        transfer = TransferRequest(
            address=self.receiver.address,
            port=port,
            data_port=port + 1,
            streams=turn.cell.streams,
            seconds=seconds,
            record_length_B=variant.record_length_B,
            congestion=CONGESTION,
            threads=min(self._threads, turn.cell.streams),
        )
        return run_transfer(
            peer.tool,
            peer.program,
            transfer,
            variant,
            sender=self.sender.host,
            receiver=self.receiver.host,
            meter=meter,
        )

    def _gensink(
        self, cell: BenchCell, variant: OwnVariant, seconds: int, meter: Callable[[], None]
    ) -> tuple[Received, float]:
        """Transfer with netlab's own core: the kernel's buffers and no warm-up, as the tools."""
        request = request_of(
            self.study,
            Timing(rounds=1, seconds=seconds, warmup_s=0.0),
            streams=cell.streams,
            record_length_B=variant.record_length_B,
            congestion=CONGESTION,
            force_buffer=False,
            engine=variant.engine,
            send=variant.send,
            receive=variant.receive,
        )
        meter()
        outcome = measure(*self._sides, request)
        meter()
        (flow,) = outcome.flows
        for name, result in (("sender", flow.gen), ("sink", flow.sink)):
            if result["status"] != "ok":
                raise RunError(
                    f"{name}: {result.get('message') or result['status']}", code="E-BENCH-011"
                )
        goodput = goodput_MBps(flow.sink)
        if goodput is None:
            raise RunError("the sink measured no window", code="E-BENCH-012")
        own_us = sum(
            result["meter"]["total"]["process"][key]
            for result in (flow.gen, flow.sink)
            for key in ("user_us", "system_us")
        )
        window = flow.sink["window"]
        return Received(goodput, (window["t1_ns"] - window["t0_ns"]) / 1e9), own_us / 1e6
