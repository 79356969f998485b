"""Calibrated paths: open each, set its MTU, and send one stream over it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from netlab.errors import RunError
from netlab.experiment.conditions import stable_facts
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Endpoint, open_endpoints
from netlab.experiment.found_facts import host_facts
from netlab.experiment.trial import core_run, measurement, request_of, side_of
from netlab.files.recorded_facts import StableFacts
from netlab.lab.lab import Lab
from netlab.lab.namespaces import ip, tool
from netlab.lab.pair import RECEIVER, SENDER
from netlab.measure.record import RunSetting
from netlab.qualify.calibrated.cells import INTERVAL_MS, Stream
from netlab.qualify.calibrated.emulator_cells import EmulatorPlan
from netlab.qualify.calibrated.rate_cells import RatePlan
from netlab.results.flags import Flag
from netlab.study import Group, Socket, Study, Timing

KEPT = (
    *("goodput_MBps", "window_s", "window_B", "mss_B", "retransmits", "ledger_error_B"),
    *("steal_percent", "foreign_cpu_percent", "busiest_core_percent", "flags", "message"),
)
"""Columns of a run that a calibration stores."""

KEPT_OF_EMULATOR = ("emulator_late_us", "emulator_waited_percent", "path_drops")
"""Further columns of a run over an emulated path."""


@dataclass(frozen=True)
class CalibratedPath:
    study: Study
    group: Group
    lab: Lab
    endpoints: dict[str, Endpoint]
    emulation: Emulation | None

    def set_mtu(self, mtu_B: int) -> None:
        """Set the MTU of both ends for good: a tuning refuses one that ends IPv6."""
        for name, endpoint in self.endpoints.items():
            line = ("link", "set", "dev", endpoint.interface, "mtu", str(mtu_B))
            tool(ip(self.lab.namespace(name), *line), host=name)

    def send(self, stream: Stream) -> dict:
        timing = Timing(
            rounds=1, seconds=stream.window_s, warmup_s=stream.warmup_s, interval_ms=INTERVAL_MS
        )
        request = request_of(
            self.study,
            timing,
            streams=1,
            record_length_B=stream.record_length_B,
            congestion=stream.congestion,
            socket=Socket(pacing_MBps=stream.pacing_MBps),
        )
        sender, receiver = (
            side_of(self.endpoints[name], buffer_B=stream.buffer_B) for name in (SENDER, RECEIVER)
        )
        try:
            made = measurement(
                lambda: core_run(sender, receiver, request, mtu_B=stream.mtu_B),
                # The path's rate is under test here, so it is not a ceiling for flags.
                setting=RunSetting(
                    stream.mtu_B, None, None, None, bus_shared=False, one_machine=True
                ),
                timing=timing,
                group=self.group,
                endpoints=self.endpoints.values(),
                run_id="calibration",
                emulation=self.emulation,
            )
        except RunError as error:
            return {"goodput_MBps": None, "flags": Flag.FAILED, "message": str(error)}
        return {name: made.row[name] for name in KEPT + KEPT_OF_EMULATOR * bool(self.emulation)}


def measure_cells(
    plan: RatePlan | EmulatorPlan,
    cells: Iterable[Any],
    attempt: Callable[[CalibratedPath, Any], Callable[[], dict]],
    column: str,
    progress: Callable[[dict], None],
) -> tuple[list[dict], StableFacts]:
    """Measure every cell on a lab of its own; `column` has the number of a try.

    A study's rounds do not serve here: its tunings refuse an MTU that ends IPv6, its runs have one
    window, and a round trip under load is not a run.
    """
    study = plan.study
    samples: list[dict] = []
    groups = {group.path: group for group in study.groups}
    # Never a lab that is up already: the MTUs set here are not reverted.
    with Lab.up(study, owned=True) as lab:
        facts = stable_facts(next(iter(host_facts(study, lab=lab).values()))[SENDER])
        for name, part in itertools.groupby(cells, lambda cell: cell.path):
            with open_endpoints(study, name, lab=lab) as endpoints:
                emulation = Emulation.of(study, name, lab, interval_ms=INTERVAL_MS)
                path = CalibratedPath(study, groups[name], lab, endpoints, emulation)
                for cell in part:
                    path.set_mtu(cell.mtu_B)
                    samples += tries_of(cell, attempt(path, cell), column, plan.tries, progress)
    return samples, facts


def tries_of(
    cell: Any,
    once: Callable[[], dict],
    column: str,
    count: int,
    progress: Callable[[dict], None] = lambda sample: None,
) -> list[dict]:
    samples = []
    for number in range(1, count + 1):
        samples.append({**cell.key, column: number, **once()})
        progress(samples[-1])
    return samples
