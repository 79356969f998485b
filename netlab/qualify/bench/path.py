"""The lab path that all contenders share, and one transfer over it with the machine's meters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from netlab.errors import HostError, RunError
from netlab.experiment.endpoint import Station, open_stations
from netlab.generators.tools import Received, Transfer, Variant
from netlab.lab.lab import Lab
from netlab.lab.namespaces import tool as run_ip
from netlab.measure import Side, measure
from netlab.measure.exchange import Request
from netlab.measure.record import goodput_MBps
from netlab.qualify.bench.contenders import OwnVariant
from netlab.qualify.bench.installed import Installed
from netlab.qualify.bench.processes import run_tool
from netlab.qualify.bench.rounds import Cell, Environment, Heat, Turn
from netlab.study import Study, Timing

CONGESTION = "cubic"
SENDER, RECEIVER = "gen", "sink"
HEADERS_B = 20 + 32
"""IPv4 and TCP with timestamps; a veth counts what it receives without the Ethernet header."""

DISAGREEMENT = 0.02
"""A tool may say so much more than the interface carried: rounding and the ends of its window."""

METER_S = 5.0
FIRST_PORT, PORTS_A_RUN, PORT_SETS = 10_000, 512, 40
"""Below the ephemeral range; a tool takes as many ports as it has streams, at most."""

WORK = ("user", "nice", "system")
BUSY = (*WORK, "irq", "softirq")
ALL = (*BUSY, "idle", "iowait", "steal")


def bench_study(queues: int) -> Study:
    """Two lab hosts joined twice, unshaped: with the offloads that veth has, and without.

    Both links have `queues` pairs of queues.
    """
    paths = {}
    for level in ("on", "off"):
        link = {
            "interrupt_delay_us": 0.0,
            "segmentation_offload": level == "on",
            "checksum_offload": level == "on",
            "queues": queues,
        }
        paths[level] = {"ends": [{"host": SENDER}, {"host": RECEIVER}], "link": link}
    return Study.model_validate(
        {
            "netlab": 1,
            "name": "bench",
            "title": "netlab beside other tools",
            "hosts": {name: {"kind": "lab"} for name in (SENDER, RECEIVER)},
            "paths": paths,
            "groups": [{"name": "bench", "path": "on", "sender": SENDER}],
            "streams": [1],
            "congestion": CONGESTION,
            "timing": Timing(repeats=1),
        }
    )


@contextmanager
def open_path(
    study: Study, lab: Lab, environment: Environment, peers: dict[str, Installed]
) -> Iterator[BenchPath]:
    """Set the path of an environment up; everything is as before at the end.

    Raises
    ------
    HostError
        An end cannot be reached, or the MTU or the route could not be set.
    """
    with ExitStack() as stack:
        stations = stack.enter_context(open_stations(study, environment.offloads, lab=lab))
        for station in stations.values():
            session = stack.enter_context(station.with_mtu(environment.mtu_B))
            if session.drift():
                raise HostError(station.name, f"did not take an MTU of {environment.mtu_B} B")
        sender, receiver = stations[SENDER], stations[RECEIVER]
        names = {name: lab.namespace(name) for name in (SENDER, RECEIVER)}
        for here, there in ((sender, receiver), (receiver, sender)):
            stack.enter_context(_route_congestion(names[here.name], here, there.address))
        yield BenchPath(sender, receiver, lab, peers)


@contextmanager
def _route_congestion(namespace: str, station: Station, peer: str) -> Iterator[None]:
    """Make :data:`CONGESTION` what every socket to the peer starts with.

    A tool without an option for it then runs what the others run. A namespace's default cannot be
    set to an algorithm that the machine restricts; a route's can.
    """
    route = (
        *(peer, "dev", station.interface, "proto", "kernel", "scope", "link"),
        *("src", station.address),
    )
    change = ("ip", "-n", namespace, "route", "replace", *route)
    run_ip((*change, "congctl", CONGESTION), host=station.name)
    try:
        said = run_ip(("ip", "-n", namespace, "route", "show", peer), host=station.name)
        if f"congctl {CONGESTION}" not in said:
            raise HostError(station.name, f"its route to {peer} did not take {CONGESTION}")
        yield
    finally:
        run_ip(change, host=station.name)


@dataclass(frozen=True)
class Readings:
    """What the machine did during one transfer; both ends are on it."""

    wall_s: float
    busy_s: float
    work_s: float
    all_s: float
    steal_s: float
    payload_B: int

    def row(self, own_s: float) -> dict:
        """Columns of a sample; `own_s` is the CPU time that was the contender's."""
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


def readings(before: dict, after: dict) -> Readings:
    """The difference of two answers of the sink's agent to ``meter``.

    Raises
    ------
    RunError
        It has no interface, or a counter went backwards.
    """
    old, new = before.get("interface"), after.get("interface")
    if not old or not new:
        raise RunError("the meter has no interface", code="internal")
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
        raise RunError("an interface counter went backwards", code="internal")
    return Readings(
        wall_s=(after["t_ns"] - before["t_ns"]) / 1e9,
        busy_s=spent_s(BUSY),
        work_s=spent_s(WORK),
        all_s=spent_s(ALL),
        steal_s=spent_s(("steal",)),
        payload_B=payload_B,
    )


class BenchPath:
    """A path that is set up, over which contenders take turns; made by :func:`open_path`."""

    def __init__(
        self,
        sender: Station,
        receiver: Station,
        lab: Lab,
        peers: dict[str, Installed],
    ):
        self.sender, self.receiver = sender, receiver
        self._lab, self._peers = lab, peers
        self._threads = int(sender.facts.get("cpus") or 1)

    def take(self, turn: Turn | Heat, variant: OwnVariant | Variant, seconds: int) -> dict:
        """Make one transfer; its sample, which says in ``error`` what went wrong if it did.

        Raises
        ------
        HostError
            An end of the path is gone.
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
        try:
            before, netlab_s = self._meter(), time.process_time()
            received, own_s = self._transfer(turn, variant, seconds)
            netlab_s = time.process_time() - netlab_s
            found = readings(before, self._meter())
            row |= found.row(own_s + netlab_s)
            said_B = received.goodput_MBps * 1e6 * received.window_s
            if said_B > found.payload_B * (1 + DISAGREEMENT):
                raise RunError(
                    f"counts {said_B / 1e6:.1f} MB, the interface {found.payload_B / 1e6:.1f} MB",
                    code="peer",
                )
            row |= {"goodput_MBps": received.goodput_MBps, "window_s": received.window_s}
        except RunError as error:
            row["error"] = str(error)
        return row

    def _meter(self) -> dict:
        """The counters of the machine and of the sink's interface, read by its agent."""
        agent = self.receiver.agent
        agent.send("meter", interface=self.receiver.interface)
        deadline = time.monotonic() + METER_S
        while (left := deadline - time.monotonic()) > 0:
            answer = agent.poll(left)
            if answer is not None and answer.get("event") == "meter":
                return answer
        raise HostError(self.receiver.name, f"its agent read no meter within {METER_S:g} s")

    def _transfer(
        self, turn: Turn | Heat, variant: OwnVariant | Variant, seconds: int
    ) -> tuple[Received, float]:
        if isinstance(variant, OwnVariant):
            return self._gensink(turn.cell, variant, seconds)
        port = FIRST_PORT + PORTS_A_RUN * (turn.order % PORT_SETS)
        return run_tool(
            self._peers[turn.contender],
            Transfer(
                address=self.receiver.address,
                port=port,
                data_port=port + 1,
                streams=turn.cell.streams,
                seconds=seconds,
                record_length_B=variant.record_length_B,
                congestion=CONGESTION,
                threads=min(self._threads, turn.cell.streams),
            ),
            variant,
            lab=self._lab,
            sender=self.sender.name,
            receiver=self.receiver.name,
        )

    def _gensink(self, cell: Cell, variant: OwnVariant, seconds: int) -> tuple[Received, float]:
        """netlab's own, with the kernel's own buffers and no warm-up, as the others run."""
        outcome = measure(
            self._side(self.sender),
            self._side(self.receiver),
            Request(
                streams=cell.streams,
                record_length_B=variant.record_length_B,
                congestion=CONGESTION,
                force_buffer=False,
                engine=variant.engine,
                send=variant.send,
                receive=variant.receive,
                warmup_ms=0,
                window_ms=1000 * seconds,
                interval_ms=100,
                both=False,
            ),
        )
        (flow,) = outcome.flows
        for name, result in (("sender", flow.gen), ("sink", flow.sink)):
            if result["status"] != "ok":
                raise RunError(f"{name}: {result.get('message') or result['status']}")
        goodput = goodput_MBps(flow.sink)
        if goodput is None:
            raise RunError("the sink measured no window")
        own_us = sum(
            result["meter"]["total"]["process"][key]
            for result in (flow.gen, flow.sink)
            for key in ("user_us", "system_us")
        )
        window = flow.sink["window"]
        return Received(goodput, (window["t1_ns"] - window["t0_ns"]) / 1e9), own_us / 1e6

    def _side(self, station: Station) -> Side:
        return Side(
            host=station.name,
            channel=station.agent,
            address=station.address,
            interface=station.interface,
            sndbuf_B=0,
            rcvbuf_B=0,
        )
