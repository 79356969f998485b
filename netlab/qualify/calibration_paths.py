"""Calibrated paths: one stream over each, the goodput that TCP can reach, and the verdicts."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, ClassVar, Protocol, TypeVar

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

    def deviation_percent(self, goodput_MBps: float) -> float:
        """Error of a goodput, in per cent of the expected one."""
        return 100 * (goodput_MBps / self.expected_MBps - 1)

    def window_s(self, seconds: float) -> float:
        """The window, lengthened if `seconds` contain too few frames."""
        return max(seconds, WINDOW_FRAMES / self.frames_per_s)


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

RATE_HEADS = {
    "rate_Mbps": "Mb/s",
    "mtu_B": "MTU",
    "expected_MBps": "TCP can carry, MB/s",
    "goodput_MBps": "measured, MB/s",
    "error_percent": "error %",
    "least_percent": "least %",
    "greatest_percent": "greatest %",
    "within_percent": "bound %",
}
"""Column headings of a rate and its error, for links and for the emulator."""


def too_few(known: Sized, tries: int) -> bool:
    """True if so many tries have no figure that a median of all is unknown."""
    return 2 * len(known) <= tries


def undisturbed(sample: dict) -> bool:
    """True for a sample without steal and foreign load."""
    return "interference" not in sample["flags"].split(",")


def all_flags(samples: list[dict]) -> str:
    """All flags of several samples, each once, comma-separated."""
    return ",".join(sorted({f for one in samples for f in one["flags"].split(",") if f}))


# Tables of a calibration as text, and the results that have one table.


def rows_of(table: Table) -> str:
    """The rows of a table as text, its index as well, numbers in its formats."""
    frame, formatters = table.frame.reset_index(), {}
    if isinstance(table.formats, Mapping):
        formatters = {
            table.heads.get(name, name): _shown(form)
            for name, form in table.formats.items()
            if name in frame and isinstance(form, str)
        }
    return frame.rename(columns=dict(table.heads)).to_string(
        index=False, na_rep="-", formatters=formatters
    )


def _shown(form: str) -> Callable[[float], str]:
    return lambda value: "-" if pd.isna(value) else format(value, form)


@dataclass(frozen=True, eq=False)
class OneTable(ABC):
    """Base of the results of a calibration that has one table."""

    plan: Any
    cells: pd.DataFrame
    samples: list[dict]
    machine: dict

    NAME: ClassVar[str]
    """Name of the table's file."""

    ROWS: ClassVar[str]
    """Key of the rows in the JSON document."""

    @abstractmethod
    def table(self) -> Table:
        """The table for readers."""

    def tables(self) -> dict[str, Table]:
        """The table, by the name of its file."""
        return {self.NAME: self.table()}

    def settings(self) -> dict:
        """The plan as JSON values."""
        return asdict(self.plan)

    def to_text(self) -> str:
        """The table for a terminal: caption, rows, note."""
        table = self.table()
        return f"{table.caption}\n{rows_of(table)}\n{table.note}"

    def as_json(self) -> dict:
        """Settings, rows and every run as JSON values."""
        return {
            "settings": self.settings(),
            self.ROWS: self.cells.to_dict("records"),
            "samples": self.samples,
        }
