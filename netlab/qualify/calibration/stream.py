"""Calibrated paths: open each, set its MTU, and send one stream over it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from netlab.errors import RunError
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import Endpoint, host_facts, open_endpoints
from netlab.experiment.lab_pair import RECEIVER, SENDER
from netlab.experiment.measurement import Measurement, core_run, measured, request_of, side_of
from netlab.experiment.visit import stable_facts
from netlab.lab.lab import Lab
from netlab.lab.namespaces import ip, tool
from netlab.measure import RunSetting
from netlab.study import Group, Socket, Study, Timing

RECORD_LENGTH_B = 65536
INTERVAL_MS = 50
KEPT = (
    *("window_s", "window_B", "mss_B", "retransmits", "ledger_error_B"),
    *("steal_percent", "foreign_cpu_percent", "busiest_core_percent"),
)
"""Columns of a run that a calibration stores."""

KEPT_OF_EMULATOR = ("emulator_late_us", "emulator_waited_percent", "path_drops")
"""Further columns of a run over an emulated path."""


class CalibratedCell(Protocol):
    """A cell of a calibration: a path and the MTU it is measured with."""

    @property
    def path(self) -> str: ...

    @property
    def mtu_B(self) -> int: ...


AnyCell = TypeVar("AnyCell", bound=CalibratedCell)


@dataclass(frozen=True)
class Stream:
    """The parameters of one stream."""

    mtu_B: int
    buffer_B: int
    warmup_s: float
    window_s: float
    congestion: str
    pacing_MBps: float | None = None
    record_length_B: int = RECORD_LENGTH_B
    interval_ms: int = INTERVAL_MS


@dataclass(frozen=True)
class CalibratedPath:
    """An open path of a calibration."""

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
        """Send one stream."""
        try:
            made = self.measure(stream)
        except RunError as error:
            return {"goodput_MBps": None, "flags": "failed", "message": str(error)}
        columns = KEPT + (KEPT_OF_EMULATOR if self.emulation else ())
        return {name: made.row[name] for name in ("goodput_MBps", *columns, "flags", "message")}

    def measure(self, stream: Stream) -> Measurement:
        """Send one stream; return its record with all samples."""
        timing = Timing(
            rounds=1,
            seconds=stream.window_s,
            warmup_s=stream.warmup_s,
            interval_ms=stream.interval_ms,
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
        return measured(
            lambda: core_run(sender, receiver, request, mtu_B=stream.mtu_B),
            # The path's rate is under test here, so it is not a ceiling for flags.
            setting=RunSetting(stream.mtu_B, None, None, None, bus_shared=False, one_machine=True),
            timing=timing,
            group=self.group,
            endpoints=self.endpoints.values(),
            run_id="calibration",
            emulation=self.emulation,
        )


def measure_cells(
    study: Study,
    cells: Iterable[AnyCell],
    measure: Callable[[CalibratedPath, AnyCell], list[dict]],
    progress: Callable[[dict], None],
) -> tuple[list[dict], dict]:
    """Measure every cell of a calibration on a lab of its own."""
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
                    samples += measure(path, cell)
                    progress(samples[-1])
    return samples, facts
