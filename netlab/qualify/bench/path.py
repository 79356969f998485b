"""The lab path that all contenders share, and one transfer over it, made as a run of a study."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from netlab.errors import HostError, RunError
from netlab.experiment.endpoint import Endpoint, open_endpoints
from netlab.experiment.lab_pair import RECEIVER, SENDER, lab_pair
from netlab.experiment.measurement import (
    core_run,
    measured,
    request_of,
    setting_of,
    side_of,
)
from netlab.generators import TrialResult, run_trial
from netlab.generators.meters import difference, snapshot
from netlab.generators.route import congestion_route
from netlab.generators.tools import Variant
from netlab.lab.lab import Lab
from netlab.measure.flags import INTERFERENCE
from netlab.measure.machines import with_controller
from netlab.qualify.bench.contenders import OwnVariant
from netlab.qualify.bench.installed import Installed
from netlab.qualify.bench.limits import CopyLimits
from netlab.qualify.bench.rounds import Environment, Heat, Turn
from netlab.study import Study, Timing

CONGESTION = "cubic"
HEADERS_B = 20 + 32
"""IPv4 and TCP with timestamps; a veth's receive counter omits the Ethernet header."""

BUSY = ("user", "nice", "system", "irq", "softirq")


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
    study: Study,
    lab: Lab,
    environment: Environment,
    peers: dict[str, Installed],
    limits: CopyLimits,
) -> Iterator[BenchPath]:
    """Set up the path of an environment; revert everything at the end."""
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
        # The default of every socket, also of tools that choose late or not at all: a socket that
        # begins with bbr goes on pacing when it is given cubic.
        for here, there in itertools.permutations(endpoints.values(), 2):
            stack.enter_context(
                congestion_route(
                    here.host,
                    interface=here.interface,
                    address=here.address,
                    peer=there.address,
                    congestion=CONGESTION,
                )
            )
        yield BenchPath(study, environment, endpoints, peers, limits)


def cost_of(total: dict) -> dict:
    """CPU time of a transfer and of a byte, columns of a sample."""
    interface = total["interface"]
    if not interface:
        raise RunError("the meter has no interface", reason="internal", code="E-BENCH-008")
    payload_B = interface["rx_bytes"] - HEADERS_B * interface["rx_packets"]
    if interface["reset"] or payload_B < 0:
        raise RunError("an interface counter decreased", reason="internal", code="E-BENCH-009")
    busy_s = sum(cpu[f"{name}_us"] for cpu in total["cpu"] for name in BUSY) / 1e6
    return {
        "wall_s": (total["t1_ns"] - total["t0_ns"]) / 1e9,
        "payload_B": payload_B,
        "busy_s": busy_s,
        "cpu_s_per_GB": busy_s / payload_B * 1e9 if payload_B else None,
    }


def failures(flags: str) -> list[str]:
    """The flags that make a transfer a failed one."""
    return [flag for flag in flags.split(",") if flag and flag != INTERFERENCE]


@dataclass(frozen=True)
class BenchPath:
    """An open path that the contenders share; made by :func:`open_path`."""

    study: Study
    environment: Environment
    endpoints: dict[str, Endpoint]
    peers: dict[str, Installed]
    limits: CopyLimits

    def take(self, turn: Turn | Heat, variant: OwnVariant | Variant, seconds: int) -> dict:
        """Make one transfer."""
        row = {
            **turn.as_dict(),
            "variant": variant.label,
            "record_length_B": variant.record_length_B,
            "started_unix_s": time.time(),
            "goodput_MBps": None,
            "window_s": None,
            "flags": "",
            "error": "",
        }
        try:
            return row | self._measured(turn, variant, seconds)
        except RunError as error:
            return row | {"error": str(error)}

    def _measured(self, turn: Turn | Heat, variant: OwnVariant | Variant, seconds: int) -> dict:
        timing = Timing(rounds=1, seconds=seconds, warmup_s=0.0)
        total: dict = {}

        def run() -> TrialResult:
            result, metered = self._run(turn, variant, timing)
            total.update(metered)
            return result

        made = measured(
            run,
            setting=setting_of(
                self.study,
                self.environment.offloads,
                self.environment.mtu_B,
                memory_MBps=self.limits.all_hot_MBps if variant.copies else None,
                memory_source=f"hot copies by {self.limits.cores} cores, measured before",
                facts=self._facts,
            ),
            timing=timing,
            group=self.study.groups[0],
            endpoints=self.endpoints.values(),
            run_id="bench",
        )
        found = made.row
        failed = failures(found["flags"])
        return cost_of(total) | {
            "goodput_MBps": None if failed else found["goodput_MBps"],
            "window_s": None if failed else found["window_s"],
            "steal_percent": found["steal_percent"],
            "foreign_percent": found["foreign_cpu_percent"],
            "flags": found["flags"],
            "error": f"{', '.join(failed)}: {found['message']}" if failed else "",
        }

    def _run(
        self, turn: Turn | Heat, variant: OwnVariant | Variant, timing: Timing
    ) -> tuple[TrialResult, dict]:
        """A run as of a study, with the kernel's buffers; and the sink's meter over all of it."""
        sender, receiver = (side_of(self.endpoints[name]) for name in (SENDER, RECEIVER))
        request = request_of(
            self.study,
            timing,
            streams=turn.cell.streams,
            record_length_B=variant.record_length_B,
            congestion=CONGESTION,
            force_buffer=False,
            **self._options(turn, variant),
        )
        if isinstance(variant, OwnVariant):
            before = snapshot(receiver)
            result = core_run(sender, receiver, request, mtu_B=self.environment.mtu_B)
            return result, difference(before, snapshot(receiver))
        peer = self.peers[turn.contender]
        result = run_trial(
            # The path has the route that a tool without such an option needs.
            replace(peer.tool, program=peer.program, sets_congestion=True),
            sender,
            receiver,
            request,
            hosts={name: endpoint.host for name, endpoint in self.endpoints.items()},
            versions={},
            mtu_B=self.environment.mtu_B,
            with_controller=with_controller(self._facts),
            variant=variant,
        )
        return result, result.outcome.flows[0].sink["meter"]["total"]

    @property
    def _facts(self) -> dict[str, dict]:
        return {name: endpoint.facts for name, endpoint in self.endpoints.items()}

    def _options(self, turn: Turn | Heat, variant: OwnVariant | Variant) -> dict[str, Any]:
        """Options of a request: those of netlab's core, or the threads of a tool."""
        if isinstance(variant, OwnVariant):
            return {
                "engine": variant.engine,
                "send": variant.send,
                "receive": variant.receive,
            }
        cpus = int(self.endpoints[SENDER].facts.get("cpus") or 1)
        return {"threads": min(cpus, turn.cell.streams)}
