"""Calibrated paths: one stream over each, the goodput that TCP can reach, and the verdicts."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import pandas as pd

from netlab.congestion import mss_B
from netlab.errors import BadInput, RunError
from netlab.experiment.endpoint import Endpoint, host_facts, open_endpoints
from netlab.experiment.trial import Emulation, Measurement, core_run, measured, request_of, side_of
from netlab.experiment.visit import stable_facts
from netlab.files.tables import Table
from netlab.lab.lab import Lab
from netlab.lab.namespaces import ip, tool
from netlab.lab.topology import RECEIVER, SENDER, lab_pair
from netlab.measure.record import RunSetting
from netlab.study import Group, Socket, Study, Timing
from netlab.units import ETHERNET_HEADER_B

# Calibrated paths: open each, set its MTU, and send one stream over it.

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


# Calibrated rates and MTUs, and the goodput that TCP can reach with them.

CONGESTION = "cubic"
WITHIN_PERCENT = 0.5
FAST_Mbps, FAST_WITHIN_PERCENT = 10_000.0, 1.0
"""Wider bound from this rate on: two cores cannot do better."""

WINDOW_FRAMES = 1000
"""Minimum window in frames, so that one frame is 0.1 %."""

UNAIDED_FRAMES_PER_S = 250_000.0
"""Above this frame rate the offloads are on: a small machine cannot send single frames so fast.
The token bucket counts the headers of all frames of a large segment."""

MIN_BUFFER_B, BUFFER_S = 262_144, 0.002
"""Socket buffers in time at the rate, and their minimum, which drains fast at the lowest rate."""


@dataclass(frozen=True)
class RateCell:
    """One known rate with one MTU.

    ``rate_Mbps`` counts Ethernet frames without preamble and check sequence, as tbf does.
    """

    rate_Mbps: float
    mtu_B: int

    @property
    def expected_MBps(self) -> float:
        """Maximum payload of TCP over IPv4 with timestamps: MSS of every MTU + 14 bytes."""
        return self.rate_Mbps / 8 * mss_B(self.mtu_B) / (self.mtu_B + ETHERNET_HEADER_B)

    @property
    def within_percent(self) -> float:
        """Permitted error."""
        return FAST_WITHIN_PERCENT if self.rate_Mbps >= FAST_Mbps else WITHIN_PERCENT

    @property
    def frames_per_s(self) -> float:
        """The rate in full frames."""
        return self.rate_Mbps * 1e6 / 8 / (self.mtu_B + ETHERNET_HEADER_B)

    @property
    def offloads(self) -> bool:
        """True if segmentation and checksum offload are on."""
        return self.frames_per_s > UNAIDED_FRAMES_PER_S

    @property
    def path(self) -> str:
        """Name of the lab path with this cell's rate and offloads."""
        return f"{round(self.rate_Mbps * 1e6)}bps" + ("-offloads" if self.offloads else "")

    @property
    def buffer_B(self) -> int:
        """Requested socket buffers."""
        return max(MIN_BUFFER_B, round(self.rate_Mbps * 1e6 / 8 * BUFFER_S))

    @property
    def record_length_B(self) -> int:
        """Record length: a quarter of the buffers, so 64 KiB at a low rate."""
        return self.buffer_B // 4

    @property
    def key(self) -> dict:
        """Columns that identify the cell in a sample."""
        return {"rate_Mbps": self.rate_Mbps, "mtu_B": self.mtu_B}

    def excess(self, sample: dict) -> float | None:
        """Shortfall of a goodput in units of the bound; negative if too high, None without one."""
        return shortfall(self, sample)

    def window_s(self, seconds: float) -> float:
        """The window, lengthened if `seconds` contain too few frames."""
        return max(seconds, WINDOW_FRAMES / self.frames_per_s)

    def stream(self, plan: RatePlan) -> Stream:
        """The stream that fills the path."""
        return Stream(
            mtu_B=self.mtu_B,
            buffer_B=self.buffer_B,
            warmup_s=plan.warmup_s,
            window_s=self.window_s(plan.seconds),
            congestion=CONGESTION,
            record_length_B=self.record_length_B,
        )


@dataclass(frozen=True)
class RatePlan:
    """The cells of a rate calibration, and the number and duration of runs."""

    rates_Mbps: Sequence[float] = (10.0, 100.0, 1000.0, 10_000.0)
    mtus_B: Sequence[int] = (576, 1500, 9000, 16114)
    seconds: float = 2.0
    repeats: int = 5
    warmup_s: float = 0.5

    def __post_init__(self) -> None:
        check_levels(
            ("rate", 1.0, 1e6, self.rates_Mbps),
            ("mtu", 576, 65535, self.mtus_B),
            ("seconds", 0.1, 600.0, (self.seconds,)),
            ("repeats", 1, 1000, (self.repeats,)),
        )

    @property
    def cells(self) -> tuple[RateCell, ...]:
        """Every rate with every MTU, lowest first."""
        levels = product(sorted(set(self.rates_Mbps)), sorted(set(self.mtus_B)))
        return tuple(RateCell(*level) for level in levels)


def check_levels(*limits: tuple[str, float, float, Sequence[float]]) -> None:
    """Refuse an option without a level, or with a level out of range."""
    for key, low, high, levels in limits:
        if not levels:
            raise BadInput("has no level", key=key, code="E-CALIBRATION-001")
        for value in levels:
            if not low <= value <= high:
                limit = f"is from {low:g} to {high:g}"
                raise BadInput(limit, key=key, value=value, code="E-CALIBRATION-002")


QUICK = RatePlan(
    rates_Mbps=(100.0, 1000.0),
    mtus_B=(576, 1500, 16114),
    seconds=0.8,
    repeats=3,
    warmup_s=0.3,
)


def calibration_study(plan: RatePlan) -> Study:
    """Two lab hosts joined by one path of each rate."""
    links = {
        cell.path: {
            "rate_Mbps": cell.rate_Mbps,
            "interrupt_delay_us": 0.0,
            "segmentation_offload": cell.offloads,
            "checksum_offload": cell.offloads,
        }
        for cell in plan.cells
    }
    return study_of_links(links, plan.mtus_B, title="Paths of known rates", congestion=CONGESTION)


def study_of_links(
    links: Mapping[str, dict], mtus_B: Iterable[int], *, title: str, congestion: str
) -> Study:
    """A study with one group for each path between the two lab hosts."""
    groups = [{"name": name, "path": name, "record_length_B": 65536} for name in links]
    return lab_pair(
        "calibration",
        title,
        links,
        groups,
        mtus_B=sorted(set(mtus_B)),
        congestion=congestion,
        force_buffer=True,
    )


# Verdicts of calibrated cells, and the flags behind them.

WITHIN, OUTSIDE, DISTURBED, NOT_MEASURED = "within", "outside", "disturbed", "not measured"
"""Disturbed: the cell is off its bound, but every try beyond it had steal or foreign load."""

EVERY_TRY = (
    "Every try counts: the figure is the median of all, between the least and the greatest; a cell "
    "of which half the tries or more failed is not measured."
)
"""The rule for the tries of a cell, for notes."""

HEADS = {
    "rtt_ms": "RTT asked, ms",
    "goodput_Mbps": "load, Mb/s",
    "mean_ms": "median, ms",
    "deviation_us": "off by, us",
    "least_us": "least, us",
    "greatest_us": "greatest, us",
    "bound_us": "bound, us",
    "late_us": "late, us",
    "rate_Mbps": "Mb/s",
    "mtu_B": "MTU",
    "expected_MBps": "TCP can carry, MB/s",
    "goodput_MBps": "measured, MB/s",
    "error_percent": "error %",
    "least_percent": "least %",
    "greatest_percent": "greatest %",
    "within_percent": "bound %",
}
FORMATS = {
    **dict.fromkeys(("mean_ms", "expected_MBps", "goodput_MBps"), ".3f"),
    **dict.fromkeys(("goodput_Mbps", "bound_us", "late_us"), ".0f"),
    **dict.fromkeys(("rtt_ms", "rate_Mbps"), "g"),
    **dict.fromkeys(("deviation_us", "least_us", "greatest_us"), "+.0f"),
    **dict.fromkeys(("error_percent", "least_percent", "greatest_percent"), "+.2f"),
    "within_percent": ".1f",
}


class JudgedCell(CalibratedCell, Protocol):
    """A cell whose samples are off the known figure by so many bounds."""

    @property
    def key(self) -> dict: ...

    def excess(self, sample: dict) -> float | None: ...


class KnownRate(Protocol):
    """A cell with a known goodput."""

    @property
    def expected_MBps(self) -> float: ...

    @property
    def within_percent(self) -> float: ...


def shortfall(cell: KnownRate, sample: dict) -> float | None:
    """Shortfall of a goodput in units of the bound; negative if too high, None without one."""
    if sample["goodput_MBps"] is None:
        return None
    return 100 * (1 - sample["goodput_MBps"] / cell.expected_MBps) / cell.within_percent


def tries_of(cell: JudgedCell, attempt: Callable[[], dict], count: int, name: str) -> list[dict]:
    """Measure a cell several times, whatever the figures; `name` is the column of the number."""
    return [{**cell.key, name: number, **attempt()} for number in range(1, count + 1)]


def judge(cell: JudgedCell, tries: list[dict]) -> str:
    """The verdict of a cell, on the median of all its tries that have a figure."""
    known = [(off, one) for one in tries if (off := cell.excess(one)) is not None]
    if 2 * len(known) <= len(tries):
        return NOT_MEASURED
    if abs(float(np.median([off for off, _ in known]))) <= 1:
        return WITHIN
    # Other work on the machine never shortens a round trip, nor raises a rate.
    beyond = [(off, one) for off, one in known if abs(off) > 1]
    clean = any(off < -1 or "interference" not in one["flags"].split(",") for off, one in beyond)
    return OUTSIDE if clean else DISTURBED


JudgedT = TypeVar("JudgedT", bound=JudgedCell)


def judged(
    cells: Iterable[JudgedT],
    samples: list[dict],
    figures: Callable[[JudgedT, list[dict]], dict],
    columns: tuple[str, ...],
) -> pd.DataFrame:
    """Cells as rows: the figures of all tries, and the verdict."""
    rows = []
    for cell in cells:
        tries = [one for one in samples if cell.key.items() <= one.items()]
        measured = [one for one in tries if cell.excess(one) is not None]
        counts = dict.fromkeys(("tries", "runs"), len(tries))
        counts["failed"] = len(tries) - len(measured)
        flags = {flag for one in tries for flag in one["flags"].split(",") if flag}
        verdict = {"verdict": judge(cell, tries), "flags": ",".join(sorted(flags))}
        rows.append({**cell.key, **figures(cell, measured), **counts, **verdict})
    frame = pd.DataFrame.from_records(rows, columns=list(columns))
    return frame.astype(dict.fromkeys([name for name in columns if name in FORMATS], float))


def values_of(tries: list[dict], name: str) -> list[float]:
    """A figure of every try that has it."""
    return [float(one[name]) for one in tries if one.get(name) is not None]


def median_of(tries: list[dict], name: str) -> float:
    """Median of a figure over the tries that have it; NaN if none has."""
    values = values_of(tries, name)
    return float(np.median(values)) if values else np.nan


def rate_figures(cell: KnownRate, tries: list[dict]) -> dict:
    """Goodput of a cell with a known one, and its error."""
    errors = [
        100 * (goodput / cell.expected_MBps - 1) for goodput in values_of(tries, "goodput_MBps")
    ]
    return {
        "expected_MBps": cell.expected_MBps,
        "goodput_MBps": median_of(tries, "goodput_MBps"),
        "error_percent": float(np.median(errors)) if errors else np.nan,
        "least_percent": min(errors, default=np.nan),
        "greatest_percent": max(errors, default=np.nan),
        "within_percent": cell.within_percent,
        "late_us": median_of(tries, "emulator_late_us"),
    }


# A calibrated part: tables, text and JSON.


@dataclass(frozen=True, eq=False)
class CalibrationPart(ABC):
    """The measurements and verdicts of one part of a calibration."""

    plan: Any
    samples: list[dict]
    machine: dict

    ROWS: ClassVar[tuple[str, ...]]
    """Frames of rows, and their keys in the JSON document."""

    CONGESTION: ClassVar[str]

    @abstractmethod
    def tables(self) -> dict[str, Table]:
        """The tables for readers, by the name of their file."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """Lines below the tables in a terminal."""

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every cell."""
        return [verdict for name in self.ROWS for verdict in getattr(self, name)["verdict"]]

    def to_text(self) -> str:
        """The tables for a terminal."""
        tables = [table for table in self.tables().values() if len(table.frame)]
        return "\n".join([*(f"{t.caption}\n{_rows_of(t)}\n" for t in tables), *self.notes])

    def as_json(self) -> dict:
        """Settings, cells and every try as JSON values."""
        return {
            "settings": {**asdict(self.plan), "congestion": self.CONGESTION},
            **{name: getattr(self, name).to_dict("records") for name in self.ROWS},
            "samples": self.samples,
        }


def _rows_of(table: Table) -> str:
    """The rows of a table as text, its index as well, numbers in their formats."""
    frame = table.frame.reset_index()
    formatters = {
        table.heads.get(name, name): _shown(form) for name, form in FORMATS.items() if name in frame
    }
    return frame.rename(columns=dict(table.heads)).to_string(
        index=False, na_rep="-", formatters=formatters
    )


def _shown(form: str) -> Callable[[float], str]:
    return lambda value: "-" if pd.isna(value) else format(value, form)
