"""Calibrate the core and the path emulator: measure each cell, and judge all its tries."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from netlab import core
from netlab.analysis import trust
from netlab.errors import RunError
from netlab.experiment.conditions import stable_facts
from netlab.experiment.endpoint import Endpoint, host_facts, open_endpoints
from netlab.experiment.trial import Emulation, core_run, measured, request_of, side_of
from netlab.files.tables import Table
from netlab.files.writing import write_json
from netlab.generators.remote_process import difference, snapshot
from netlab.hosts.path import ping, together
from netlab.lab.lab import Lab
from netlab.lab.namespaces import ip, tool
from netlab.lab.topology import RECEIVER, SENDER
from netlab.measure.flags import INTERFERENCE, interference
from netlab.measure.record import RunSetting, others_load, own_us
from netlab.qualify.calibration_cells import (
    BOUND_PERCENT,
    BOUND_US,
    EMULATOR_CONGESTION,
    INTERVAL_MS,
    PATH_MTU_B,
    RATES_CONGESTION,
    EmulatorPlan,
    KnownRate,
    RateCell,
    RatePlan,
    RoundTrip,
    Stream,
)
from netlab.study import Group, Socket, Study, Timing
from netlab.version import version

# Calibrated paths: open each, set its MTU, and send one stream over it.

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
            made = measured(
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
            return {"goodput_MBps": None, "flags": "failed", "message": str(error)}
        return {name: made.row[name] for name in KEPT + KEPT_OF_EMULATOR * bool(self.emulation)}


def measure_cells(
    plan: RatePlan | EmulatorPlan,
    cells: Iterable[Any],
    attempt: Callable[[CalibratedPath, Any], Callable[[], dict]],
    column: str,
    progress: Callable[[dict], None],
) -> tuple[list[dict], dict]:
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


# Verdicts of calibrated cells, and the flags behind them.

WITHIN, OUTSIDE, DISTURBED, NOT_MEASURED = "within", "outside", "disturbed", "not measured"
"""Disturbed: the cell is off its bound, but every try beyond it had steal or foreign load."""

EVERY_TRY = (
    "Every try counts: the figure is the median of all, between the least and the greatest; a cell "
    "of which half the tries or more failed is not measured."
)
"""The rule for the tries of a cell, for notes."""


def judge(cell: Any, tries: list[dict]) -> str:
    """The verdict of a cell, on the median of all its tries that have a figure."""
    known = [(off, one) for one in tries if (off := cell.excess(one)) is not None]
    if 2 * len(known) <= len(tries):
        return NOT_MEASURED
    if abs(float(np.median([off for off, _ in known]))) <= 1:
        return WITHIN
    # Other work on the machine never shortens a round trip, nor raises a rate.
    beyond = [(off, one) for off, one in known if abs(off) > 1]
    clean = any(off < -1 or INTERFERENCE not in one["flags"].split(",") for off, one in beyond)
    return OUTSIDE if clean else DISTURBED


def _figure(tries: list[dict], name: str) -> pd.Series:
    return pd.Series([one.get(name) for one in tries], dtype=float)


def _spread(values: pd.Series, unit: str, middle: str) -> dict[str, float]:
    ends = {f"least_{unit}": values.min(), f"greatest_{unit}": values.max()}
    return {f"{middle}_{unit}": values.median(), **ends}


class CellTable(NamedTuple):
    """A table of the cells of one kind: its key in the document, and what its columns have.

    :data:`netlab.analysis.trust.TABLES` has its caption and keys.
    """

    name: str
    figures: Callable[[Any, list[dict]], dict]
    counts: tuple[str, ...]

    def frame(self, cells: Sequence[Any], samples: list[dict]) -> pd.DataFrame:
        rows = []
        for cell in cells:
            tries = [one for one in samples if cell.key.items() <= one.items()]
            good = [one for one in tries if cell.excess(one) is not None]
            counts = zip(self.counts, (len(tries), len(tries) - len(good)), strict=False)
            flags = sorted({flag for one in tries for flag in one["flags"].split(",") if flag})
            row = {**cell.key, **self.figures(cell, good), "verdict": judge(cell, tries)}
            rows.append({**row, **dict(counts), "flags": ",".join(flags)})
        return pd.DataFrame.from_records(rows)


# A calibrated part: tables, text and JSON.


@dataclass(frozen=True, eq=False)
class CalibrationPart(ABC):
    plan: Any
    samples: list[dict]
    machine: dict

    NAME: ClassVar[str]
    TABLES: ClassVar[tuple[CellTable, ...]]
    """Each has the plan's cells of its name."""

    CONGESTION: ClassVar[str]

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """Lines below the tables in a terminal, one a table, and one of all."""

    @cached_property
    def frames(self) -> dict[str, pd.DataFrame]:
        return {
            table.name: table.frame(getattr(self.plan, table.name), self.samples)
            for table in self.TABLES
        }

    def tables(self) -> dict[str, Table]:
        *own, common = self.notes
        named = zip(trust.TABLES[self.NAME].items(), own, strict=True)
        return {
            about.file: Table(
                self.frames[name].set_index(list(about.keys)),
                about.caption,
                trust.HEADS,
                trust.FORMATS,
                f"{note} {common}",
            )
            for (name, about), note in named
        }

    @property
    def verdicts(self) -> list[str]:
        return [verdict for frame in self.frames.values() for verdict in frame["verdict"]]

    def to_text(self) -> str:
        tables = [table for table in self.tables().values() if len(table.frame)]
        return "\n".join([*(f"{t.caption}\n{_text(t)}\n" for t in tables), *self.notes])

    def as_json(self) -> dict:
        return {
            "settings": {**asdict(self.plan), "congestion": self.CONGESTION},
            **{name: frame.to_dict("records") for name, frame in self.frames.items()},
            "samples": self.samples,
        }


def _text(table: Table) -> str:
    frame = table.frame.reset_index()
    for name, form in trust.FORMATS.items():
        if name in frame:
            frame[name] = [None if pd.isna(value) else format(value, form) for value in frame[name]]
    return frame.rename(columns=dict(table.heads)).fillna("-").to_string(index=False)


# Calibrate netlab's core on paths of known rates: measure each cell and its error.


def _rate(cell: KnownRate, tries: list[dict]) -> dict:
    goodputs = _figure(tries, "goodput_MBps")
    offloads = {"offloads": "on" if cell.offloads else "off"} if isinstance(cell, RateCell) else {}
    return {
        **offloads,
        "expected_MBps": cell.expected_MBps,
        "goodput_MBps": goodputs.median(),
        **_spread(100 * (goodputs / cell.expected_MBps - 1), "percent", "error"),
        "within_percent": cell.within_percent,
        **({} if offloads else {"late_us": _figure(tries, "emulator_late_us").median()}),
    }


class Calibration(CalibrationPart):
    NAME: ClassVar = trust.RATES
    TABLES: ClassVar = (CellTable("cells", _rate, ("runs", "failed")),)
    CONGESTION: ClassVar = RATES_CONGESTION

    @property
    def notes(self) -> tuple[str, ...]:
        rate = "What TCP can carry is MSS / (MTU + 14) of the rate of the token bucket."
        return (rate, EVERY_TRY)


def calibrate(plan: RatePlan, *, progress: Callable[[dict], None]) -> Calibration:
    cells = sorted(plan.cells, key=lambda cell: (cell.rate_Mbps, cell.path, cell.mtu_B))

    def attempt(path: CalibratedPath, cell: RateCell) -> Callable[[], dict]:
        return partial(path.send, cell.stream(plan))

    return Calibration(plan, *measure_cells(plan, cells, attempt, "repeat", progress))


# Calibrate the path emulator: ping idle and loaded paths, fill rates.

PING_INTERVAL_S = 0.02
LOAD_SHORT_PERCENT, LOAD_SHORT = 5.0, "load_short"
"""Largest shortfall of a load, and the flag of a try beyond it."""


def _round_trip(cell: RoundTrip, tries: list[dict]) -> dict:
    means_ms = _figure(tries, "mean_ms")
    return {
        "goodput_Mbps": 8 * _figure(tries, "goodput_MBps").median(),
        "mean_ms": means_ms.median(),
        **_spread(1e3 * (means_ms - cell.rtt_ms), "us", "deviation"),
        "bound_us": cell.bound_us,
        "late_us": _figure(tries, "emulator_late_us").median(),
        "pings": sum(one.get("pings", 0) for one in tries),
    }


class EmulatorAccuracy(CalibrationPart):
    NAME: ClassVar = trust.EMULATOR
    TABLES: ClassVar = (
        CellTable("round_trips", _round_trip, ("tries",)),
        CellTable("rates", _rate, ("tries",)),
    )
    CONGESTION: ClassVar = EMULATOR_CONGESTION

    @property
    def notes(self) -> tuple[str, ...]:
        loads = ""
        for load in self.plan.loads:
            if load.paced_Mbps:
                path = f"{load.rate_Mbps:g} Mb/s" if load.rate_Mbps else "no rate"
                loads += (
                    f"{load.name.capitalize()}: beside one stream paced at {load.paced_Mbps:g} "
                    f"Mb/s, on a path of {path}. "
                )
        trips = (
            f"Means of {self.plan.pings} pings, {1e3 * PING_INTERVAL_S:g} ms apart, MTU "
            f"{PATH_MTU_B}. {loads}The bound is the larger of {BOUND_US:g} us and "
            f"{BOUND_PERCENT:g} % of the RTT."
        )
        common = (
            "Late: what all but one in 100 of the emulator's writes stayed within. Each cell is "
            f"measured {self.plan.tries} times. {EVERY_TRY}"
        )
        return trips, "What TCP can carry is MSS / (MTU + 14) of the rate.", common


def calibrate_emulator(plan: EmulatorPlan, *, progress: Callable[[dict], None]) -> EmulatorAccuracy:

    def attempt(path: CalibratedPath, cell: Any) -> Callable[[], dict]:
        if not isinstance(cell, RoundTrip):
            return partial(path.send, cell.stream(plan.seconds))
        if cell.load.paced_Mbps:
            return partial(_loaded, path, plan, cell)
        return partial(_idle, path, plan)

    return EmulatorAccuracy(plan, *measure_cells(plan, plan.cells, attempt, "try", progress))


def _idle(path: CalibratedPath, plan: EmulatorPlan) -> dict:
    ends = [side_of(endpoint) for endpoint in path.endpoints.values()]

    def metered() -> tuple[dict, list[dict]]:
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
        **pings,
        **load,
        "emulator_late_us": emulated.late_us,
        "emulator_waited_percent": emulated.waited_percent,
        "path_drops": emulated.dropped(),
        "flags": INTERFERENCE if disturbance else "",
        "message": "; ".join(filter(None, (disturbance, pings["message"]))),
    }


def _loaded(path: CalibratedPath, plan: EmulatorPlan, cell: RoundTrip) -> dict:
    """Ping while the stream of the cell loads the path; a failed stream voids the pings."""
    stream = cell.stream(plan.pings * PING_INTERVAL_S)

    def ping_later() -> dict:
        # The handshake takes two round trips before the warm-up begins.
        time.sleep(stream.warmup_s + 2 * cell.rtt_ms / 1e3)
        return _ping(path, plan)

    calls: list[Callable[[], dict]] = [ping_later, partial(path.send, stream)]
    pings, sent = (done.result() for done in together(calls, at_once=2))
    message = "; ".join(filter(None, (sent["message"], pings["message"])))
    sample = {**pings, **sent, "message": message}
    if sample["goodput_MBps"] is None:
        sample["mean_ms"] = None
    elif 8 * sample["goodput_MBps"] < cell.load.paced_Mbps * (1 - LOAD_SHORT_PERCENT / 100):
        sample["flags"] = ",".join(filter(None, (sample["flags"], LOAD_SHORT)))
    return sample


def _ping(path: CalibratedPath, plan: EmulatorPlan) -> dict:
    """Statistics of pings, the number answered, and ping's last lines if one was not."""
    near, far = path.endpoints[SENDER], path.endpoints[RECEIVER]
    pings = ping(near.host, near.address, far.address, count=plan.pings, interval_s=PING_INTERVAL_S)
    lost_percent = 100.0 if pings.loss_percent is None else pings.loss_percent
    return {
        "pings": round(plan.pings * (1 - lost_percent / 100)),
        "mean_ms": pings.avg_ms,
        **{name: getattr(pings, name) for name in ("mdev_ms", "min_ms", "max_ms")},
        "message": "" if pings.loss_percent == 0 else " / ".join(pings.ping.splitlines()[-3:]),
    }


# Output of a calibration: tables, text and one JSON file.

SCHEMA = 3


@dataclass(frozen=True, eq=False)
class CalibrationDocument:
    """The calibrations of one command, the ones that were not measured left out."""

    started_at: str
    rates: Calibration | None = None
    emulator: EmulatorAccuracy | None = None

    @property
    def _parts(self) -> list[CalibrationPart]:
        return [part for part in (self.rates, self.emulator) if part is not None]

    @property
    def complaint(self) -> str | None:
        verdicts = [verdict for part in self._parts for verdict in part.verdicts]
        off = Counter(verdict for verdict in verdicts if verdict != WITHIN)
        counts = ", ".join(f"{count} {name}" for name, count in off.items())
        text = f"{off.total()} of {len(verdicts)} cells are not within their bound: {counts}"
        return text if off else None

    def as_json(self) -> dict:
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
        for part in self._parts:
            for name, table in part.tables().items():
                table.export(directory / name)
        return write_json(directory / trust.FILE, self.as_json(), durable=True)
