"""Accuracy of the path emulator: cells, verdicts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from netlab.files.tables import Table
from netlab.qualify.calibration_paths import (
    EVERY_TRY,
    FORMATS,
    HEADS,
    CalibrationPart,
    RateCell,
    Stream,
    check_levels,
    judged,
    median_of,
    rate_figures,
    shortfall,
    study_of_links,
    values_of,
)
from netlab.study import Study

# Calibrated properties of the path emulator: round trips, idle and loaded, and rates.

CONGESTION = "reno"
"""Its slow start ends at a full window; cubic's may end when the delay grows."""

BOUND_US, BOUND_PERCENT = 200.0, 0.5
"""Permitted error of a mean round trip: the larger of the two."""

RATE_WITHIN_PERCENT = 1.0

LOAD_SHORT_PERCENT, LOAD_SHORT = 5.0, "load_short"
"""Largest shortfall of a load, and the flag of a try beyond it."""

PATH_MTU_B = 9000
PING_INTERVAL_S = 0.02
LEAST_PINGS = 2

WARMUP_S, WARMUP_RTTS = 0.5, 16
"""A window of 60 MB is open after 13 round trips, including two for the handshake."""

SPARE_S = 0.5
"""Margin of a load's window beyond the pings, for the start of ping."""

MIN_BUFFER_B = 1_000_000
BUFFER_BDPS = 1.25
LOAD_BUFFER_B, LOAD_BUFFER_BDPS = 8_000_000, 2
"""Buffers of a load: enough for an end that waits 0.1 s for a CPU."""

QUEUE_BUFFERS = 2
"""The kernel may permit a window of twice the requested buffer; the queue takes all of it."""


@dataclass(frozen=True)
class PathLoad:
    """Traffic besides the pings: none, or one paced stream; ``rate_Mbps`` is the path's.

    On a path with a rate a ping waits for the packets before it, as on a real link; little if the
    stream is paced well below the rate.
    """

    name: str
    paced_Mbps: float = 0.0
    rate_Mbps: float | None = None


IDLE = PathLoad("idle")
LOADED = PathLoad("loaded", 500.0)
LOADED_LINK = PathLoad("loaded link", 1000.0, 2500.0)


@dataclass(frozen=True)
class RoundTrip:
    """A round-trip time under a load."""

    rtt_ms: float
    load: PathLoad

    @property
    def bound_us(self) -> float:
        """Permitted error of the mean, us."""
        return max(BOUND_US, 1e3 * self.rtt_ms * BOUND_PERCENT / 100)

    @property
    def path(self) -> str:
        """Name of the lab path."""
        return f"{round(1e3 * self.rtt_ms)}us" + ("-link" if self.load.rate_Mbps else "")

    @property
    def link(self) -> dict:
        """The lab path's link, as in a study file."""
        emulator = {"with": "netlab", "rtt_ms": self.rtt_ms}
        if self.load.rate_Mbps:
            queue_B = QUEUE_BUFFERS * self.buffer_B
            emulator |= {"rate_Mbps": self.load.rate_Mbps, "queue_B": queue_B}
        return {"emulator": emulator}

    @property
    def mtu_B(self) -> int:
        """MTU of the path."""
        return PATH_MTU_B

    @property
    def key(self) -> dict:
        """Columns that identify the cell in a sample."""
        return {"rtt_ms": self.rtt_ms, "load": self.load.name}

    @property
    def buffer_B(self) -> int:
        """Socket buffers of the load."""
        on_its_way_B = self.load.paced_Mbps / 8 * 1e3 * self.rtt_ms
        return max(LOAD_BUFFER_B, round(LOAD_BUFFER_BDPS * on_its_way_B))

    def stream(self, pinged_s: float) -> Stream:
        """The load: a stream whose window contains `pinged_s` of pings."""
        rtt_s = self.rtt_ms / 1e3
        return Stream(
            mtu_B=self.mtu_B,
            buffer_B=self.buffer_B,
            warmup_s=WARMUP_S + WARMUP_RTTS * rtt_s,
            window_s=pinged_s + 2 * rtt_s + SPARE_S,
            congestion=CONGESTION,
            pacing_MBps=self.load.paced_Mbps / 8,
        )

    def excess(self, sample: dict) -> float | None:
        """Excess of a mean in units of the bound; negative if too short, None without a mean."""
        if sample["mean_ms"] is None:
            return None
        return 1e3 * (sample["mean_ms"] - self.rtt_ms) / self.bound_us


@dataclass(frozen=True)
class EmulatedRate:
    """A path with a rate under one stream; ``rate_Mbps`` as in :class:`RateCell`."""

    rate_Mbps: float
    rtt_ms: float
    mtu_B: int

    @property
    def expected_MBps(self) -> float:
        """Maximum payload of TCP at the rate, as on a short path."""
        return RateCell(self.rate_Mbps, self.mtu_B).expected_MBps

    @property
    def within_percent(self) -> float:
        """Permitted error."""
        return RATE_WITHIN_PERCENT

    @property
    def buffer_B(self) -> int:
        """Socket buffers: somewhat more than the bandwidth-delay product."""
        return max(MIN_BUFFER_B, round(BUFFER_BDPS * self.rate_Mbps / 8 * 1e3 * self.rtt_ms))

    @property
    def path(self) -> str:
        """Name of the lab path."""
        return f"{round(1e6 * self.rate_Mbps)}bps-{round(1e3 * self.rtt_ms)}us"

    @property
    def link(self) -> dict:
        """The lab path's link, as in a study file."""
        return {
            "emulator": {
                "with": "netlab",
                "rtt_ms": self.rtt_ms,
                "rate_Mbps": self.rate_Mbps,
                "queue_B": QUEUE_BUFFERS * self.buffer_B,
            }
        }

    @property
    def key(self) -> dict:
        """Columns that identify the cell in a sample."""
        return {"rate_Mbps": self.rate_Mbps, "rtt_ms": self.rtt_ms, "mtu_B": self.mtu_B}

    def stream(self, window_s: float) -> Stream:
        """The stream that fills the path."""
        return Stream(
            mtu_B=self.mtu_B,
            buffer_B=self.buffer_B,
            warmup_s=WARMUP_S + WARMUP_RTTS * self.rtt_ms / 1e3,
            window_s=window_s,
            congestion=CONGESTION,
        )

    def excess(self, sample: dict) -> float | None:
        """Shortfall of a goodput in units of the bound; negative if too high, None without one."""
        return shortfall(self, sample)


EmulatorCell = RoundTrip | EmulatedRate


@dataclass(frozen=True)
class EmulatorPlan:
    """The cells of an emulator calibration, and the number and duration of measurements."""

    rtts_ms: Sequence[float] = (0.5, 1.0, 2.0, 10.0, 40.0, 183.2)
    rates: Sequence[EmulatedRate] = (
        EmulatedRate(100.0, 20.0, 1500),
        EmulatedRate(2500.0, 183.2, PATH_MTU_B),
    )
    loads: Sequence[PathLoad] = (IDLE, LOADED, LOADED_LINK)
    pings: int = 100
    seconds: float = 2.0
    tries: int = 3

    def __post_init__(self) -> None:
        check_levels(
            ("rtt", 0.0, 2000.0, self.rtts_ms),
            ("pings", LEAST_PINGS, 100_000, (self.pings,)),
            ("seconds", 0.1, 600.0, (self.seconds,)),
            ("tries", 1, 100, (self.tries,)),
        )

    @property
    def round_trips(self) -> tuple[RoundTrip, ...]:
        """Every round-trip time under every load, shortest first."""
        known = sorted({round(rtt_ms, 3) for rtt_ms in self.rtts_ms})
        return tuple(RoundTrip(rtt_ms, load) for rtt_ms in known for load in self.loads)

    @property
    def cells(self) -> tuple[EmulatorCell, ...]:
        """Round trips, then rates."""
        return (*self.round_trips, *self.rates)


QUICK_EMULATOR = EmulatorPlan(
    rtts_ms=(2.0, 40.0),
    rates=(EmulatedRate(100.0, 20.0, 1500),),
    loads=(IDLE, LOADED),
    pings=40,
    seconds=1.0,
    tries=3,
)


def emulator_study(plan: EmulatorPlan) -> Study:
    """Two lab hosts joined by an emulated path of each kind."""
    links = {cell.path: cell.link for cell in plan.cells}
    mtus_B = {cell.mtu_B for cell in plan.cells}
    return study_of_links(links, mtus_B, title="Emulated paths", congestion=CONGESTION)


ROUND_TRIP_COLUMNS = (
    *("rtt_ms", "load", "goodput_Mbps", "mean_ms", "deviation_us", "least_us", "greatest_us"),
    *("bound_us", "late_us", "pings", "tries", "verdict", "flags"),
)
RATE_COLUMNS = (
    *("rate_Mbps", "rtt_ms", "mtu_B", "expected_MBps", "goodput_MBps", "error_percent"),
    *(
        "least_percent",
        "greatest_percent",
        "within_percent",
        "late_us",
        "tries",
        "verdict",
        "flags",
    ),
)
RATES_NOTE = "What TCP can carry is MSS / (MTU + 14) of the rate."


@dataclass(frozen=True, eq=False)
class EmulatorAccuracy(CalibrationPart):
    """Measured round trips and rates of the emulator, compared with its settings."""

    plan: EmulatorPlan
    round_trips: pd.DataFrame
    rates: pd.DataFrame

    ROWS: ClassVar = ("round_trips", "rates")
    CONGESTION: ClassVar = CONGESTION

    @classmethod
    def of(cls, plan: EmulatorPlan, samples: list[dict], machine: dict) -> EmulatorAccuracy:
        """Compute cells and verdicts of a plan from its samples."""
        return cls(
            plan,
            samples,
            machine,
            judged(plan.round_trips, samples, _round_trip, ROUND_TRIP_COLUMNS),
            judged(plan.rates, samples, rate_figures, RATE_COLUMNS),
        )

    @property
    def _note(self) -> str:
        """Note of both tables."""
        return (
            "Late: what all but one in 100 of the emulator's writes stayed within. Each cell is "
            f"measured {self.plan.tries} times. {EVERY_TRY}"
        )

    def tables(self) -> dict[str, Table]:
        """The tables, by the name of their file."""
        trips = Table(
            self.round_trips.set_index(["rtt_ms", "load"]),
            caption="The emulator's accuracy: round trips, idle and loaded, beside what was asked",
            heads=HEADS,
            formats=FORMATS,
            note=f"{self._trips_note} {self._note}",
        )
        rates = Table(
            self.rates.set_index(["rate_Mbps", "rtt_ms", "mtu_B"]),
            caption="The emulator's accuracy: goodput of one stream, beside what TCP can carry",
            heads=HEADS,
            formats=FORMATS,
            note=f"{RATES_NOTE} {self._note}",
        )
        return {"calibration-round-trips": trips, "calibration-emulated-rates": rates}

    @property
    def _trips_note(self) -> str:
        return (
            f"Means of {self.plan.pings} pings, {1e3 * PING_INTERVAL_S:g} ms apart, MTU "
            f"{PATH_MTU_B}. {self._loads_note}The bound is the larger of {BOUND_US:g} us and "
            f"{BOUND_PERCENT:g} % of the RTT."
        )

    @property
    def _loads_note(self) -> str:
        said = []
        for load in self.plan.loads:
            if not load.paced_Mbps:
                continue
            path = f"{load.rate_Mbps:g} Mb/s" if load.rate_Mbps else "no rate"
            said.append(
                f"{load.name.capitalize()}: beside one stream paced at {load.paced_Mbps:g} Mb/s, "
                f"on a path of {path}. "
            )
        return "".join(said)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines below the tables in a terminal."""
        return self._trips_note, RATES_NOTE, self._note


def _round_trip(cell: RoundTrip, tries: list[dict]) -> dict:
    off_us = [1e3 * (mean_ms - cell.rtt_ms) for mean_ms in values_of(tries, "mean_ms")]
    return {
        "goodput_Mbps": 8 * median_of(tries, "goodput_MBps"),
        "mean_ms": median_of(tries, "mean_ms"),
        "deviation_us": 1e3 * (median_of(tries, "mean_ms") - cell.rtt_ms),
        "least_us": min(off_us, default=np.nan),
        "greatest_us": max(off_us, default=np.nan),
        "bound_us": cell.bound_us,
        "late_us": median_of(tries, "emulator_late_us"),
        "pings": sum(one.get("pings", 0) for one in tries),
    }
