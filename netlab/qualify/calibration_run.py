"""Calibrate the core and the path emulator: measure each cell, and write the document."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from netlab import core
from netlab.analysis.trust import FILE
from netlab.experiment.trial import side_of
from netlab.files.tables import Table
from netlab.files.writing import write_json
from netlab.generators.remote_process import difference, snapshot
from netlab.hosts.path import PathCheck, ping, together
from netlab.lab.topology import RECEIVER, SENDER
from netlab.measure.flags import interference
from netlab.measure.record import others_load, own_us
from netlab.qualify.calibration_emulator import (
    LOAD_SHORT,
    LOAD_SHORT_PERCENT,
    PING_INTERVAL_S,
    EmulatorAccuracy,
    EmulatorCell,
    EmulatorPlan,
    RoundTrip,
    emulator_study,
)
from netlab.qualify.calibration_paths import (
    CONGESTION,
    EVERY_TRY,
    FORMATS,
    HEADS,
    WITHIN,
    CalibratedPath,
    CalibrationPart,
    RateCell,
    RatePlan,
    calibration_study,
    judged,
    measure_cells,
    rate_figures,
    tries_of,
)
from netlab.version import version

# Calibrate netlab's core on paths of known rates: measure each cell and its error.

CELL_COLUMNS = (
    *("rate_Mbps", "mtu_B", "offloads", "expected_MBps", "goodput_MBps", "error_percent"),
    *("least_percent", "greatest_percent", "within_percent", "verdict", "runs", "failed", "flags"),
)


@dataclass(frozen=True, eq=False)
class Calibration(CalibrationPart):
    """The measurements and verdicts of a rate calibration."""

    plan: RatePlan
    cells: pd.DataFrame

    ROWS: ClassVar = ("cells",)
    CONGESTION: ClassVar = CONGESTION

    @classmethod
    def of(cls, plan: RatePlan, samples: list[dict], machine: dict) -> Calibration:
        """Compute cells and verdicts of a plan from its samples."""
        return cls(plan, samples, machine, judged(plan.cells, samples, _rate_figures, CELL_COLUMNS))

    def tables(self) -> dict[str, Table]:
        """The cells as a table."""
        table = Table(
            self.cells.set_index(["rate_Mbps", "mtu_B"]),
            caption="Goodput on paths of known rates, beside what TCP can carry there",
            heads=HEADS,
            formats=FORMATS,
            note=" ".join(self.notes),
        )
        return {"calibration": table}

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines below the table in a terminal."""
        rate = "What TCP can carry is MSS / (MTU + 14) of the rate of the token bucket."
        return (f"{rate} {EVERY_TRY}",)


def _rate_figures(cell: RateCell, tries: list[dict]) -> dict:
    return {"offloads": "on" if cell.offloads else "off", **rate_figures(cell, tries)}


def calibrate(
    plan: RatePlan, *, progress: Callable[[dict, int], None] = lambda sample, runs: None
) -> Calibration:
    """Measure a calibration on a lab of its own."""
    samples, facts = measure_cells(
        calibration_study(plan),
        sorted(plan.cells, key=lambda cell: (cell.rate_Mbps, cell.path, cell.mtu_B)),
        lambda path, cell: tries_of(
            cell, partial(path.send, cell.stream(plan)), plan.repeats, "repeat"
        ),
        lambda sample: progress(sample, len(plan.cells)),
    )
    return Calibration.of(plan, samples, facts)


# Calibrate the path emulator on a lab of its own: ping idle and loaded paths, fill rates.


def calibrate_emulator(
    plan: EmulatorPlan, *, progress: Callable[[dict, int], None] = lambda sample, cells: None
) -> EmulatorAccuracy:
    """Measure the accuracy of the path emulator."""
    samples, facts = measure_cells(
        emulator_study(plan),
        plan.cells,
        lambda path, cell: tries_of(cell, _attempt(path, plan, cell), plan.tries, "try"),
        lambda sample: progress(sample, len(plan.cells)),
    )
    return EmulatorAccuracy.of(plan, samples, facts)


def _attempt(path: CalibratedPath, plan: EmulatorPlan, cell: EmulatorCell) -> Callable[[], dict]:
    """Measure a cell once."""
    if not isinstance(cell, RoundTrip):
        stream = cell.stream(plan.seconds)
        return lambda: path.send(stream)
    if cell.load.paced_Mbps:
        return lambda: _loaded(path, plan, cell)
    return lambda: _idle(path, plan)


def _idle(path: CalibratedPath, plan: EmulatorPlan) -> dict:
    """Ping an idle path."""
    ends = [side_of(endpoint) for endpoint in path.endpoints.values()]

    def metered() -> tuple[PathCheck, list[dict]]:
        before = [snapshot(end) for end in ends]
        pings = _ping(path, plan)
        after = [snapshot(end) for end in ends]
        return pings, [difference(*both) for both in zip(before, after, strict=True)]

    assert path.emulation is not None  # every path of this calibration is emulated
    (pings, meters), emulated = path.emulation.around(path.group, metered)
    # Both ends are on one machine, so each meter has all its processors.
    spent_us = sum(own_us(meter) for meter in meters)
    spent_us += emulated.cpu_us(meters[0]["t0_ns"], meters[0]["t1_ns"])
    load = others_load(meters[0], spent_us)
    disturbance = interference(load) or ""
    return {
        **_figures(pings, plan),
        **load,
        "emulator_late_us": emulated.late_us,
        "emulator_waited_percent": emulated.waited_percent,
        "path_drops": emulated.dropped(),
        "flags": "interference" if disturbance else "",
        "message": _message(disturbance, pings),
    }


def _loaded(path: CalibratedPath, plan: EmulatorPlan, cell: RoundTrip) -> dict:
    """Ping while the stream of the cell loads the path; a failed stream voids the pings."""
    stream = cell.stream(plan.pings * PING_INTERVAL_S)

    def ping_later() -> PathCheck:
        # The handshake takes two round trips before the warm-up begins.
        time.sleep(stream.warmup_s + 2 * cell.rtt_ms / 1e3)
        return _ping(path, plan)

    looks: list[Callable[[], Any]] = [ping_later, partial(path.send, stream)]
    pings, sent = (done.result() for done in together(looks, at_once=2))
    sample = {**_figures(pings, plan), **sent, "message": _message(sent["message"], pings)}
    if sample["goodput_MBps"] is None:
        sample["mean_ms"] = None
    elif 8 * sample["goodput_MBps"] < cell.load.paced_Mbps * (1 - LOAD_SHORT_PERCENT / 100):
        sample["flags"] = ",".join(filter(None, (sample["flags"], LOAD_SHORT)))
    return sample


def _ping(path: CalibratedPath, plan: EmulatorPlan) -> PathCheck:
    near, far = path.endpoints[SENDER], path.endpoints[RECEIVER]
    return ping(near.host, near.address, far.address, count=plan.pings, interval_s=PING_INTERVAL_S)


def _figures(pings: PathCheck, plan: EmulatorPlan) -> dict:
    """Statistics of the pings; ``pings`` counts the answered ones."""
    lost_percent = 100.0 if pings.loss_percent is None else pings.loss_percent
    return {
        "pings": round(plan.pings * (1 - lost_percent / 100)),
        "mean_ms": pings.avg_ms,
        "mdev_ms": pings.mdev_ms,
        "min_ms": pings.min_ms,
        "max_ms": pings.max_ms,
    }


def _message(message: str, pings: PathCheck) -> str:
    """The message, with ping's output if a ping was not answered."""
    printed = "" if pings.loss_percent == 0 else " / ".join(pings.ping.splitlines()[-3:])
    return "; ".join(filter(None, (message, printed)))


# Output of a calibration: tables, text and one JSON file.

SCHEMA = 3


@dataclass(frozen=True, eq=False)
class CalibrationDocument:
    """The calibrations of one command, the ones that were not measured left out."""

    started_at: str
    rates: Calibration | None = None
    emulator: EmulatorAccuracy | None = None

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every cell."""
        return [verdict for part in self._parts for verdict in part.verdicts]

    @property
    def complaint(self) -> str | None:
        """Number and verdicts of the cells off their bound; None if all are within."""
        off = [verdict for verdict in self.verdicts if verdict != WITHIN]
        if not off:
            return None
        counts = ", ".join(f"{off.count(name)} {name}" for name in dict.fromkeys(off))
        return f"{len(off)} of {len(self.verdicts)} cells are not within their bound: {counts}"

    @property
    def _parts(self) -> list[CalibrationPart]:
        return [part for part in (self.rates, self.emulator) if part is not None]

    def as_json(self) -> dict:
        """The document as JSON values, with every run; unmeasured parts are left out."""
        return {
            "netlab_calibration": SCHEMA,
            "started_at": self.started_at,
            "netlab": version(),
            "agent": core.source_digest(),
            "machine": self._parts[0].machine,
            **({} if self.rates is None else self.rates.as_json()),
            **({} if self.emulator is None else {"emulator": self.emulator.as_json()}),
        }

    def save(self, directory: Path) -> Path:
        """Write ``calibration.json`` and the tables as CSV and LaTeX; return the JSON path."""
        for part in self._parts:
            for name, table in part.tables().items():
                table.export(directory / name)
        return write_json(directory / FILE, self.as_json(), durable=True)
