"""Accuracy of the path emulator: cells, verdicts and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from netlab.files.tables import Table
from netlab.qualify.calibration.emulator_cells import (
    BOUND_PERCENT,
    BOUND_US,
    CONGESTION,
    PATH_MTU_B,
    PING_INTERVAL_S,
    RATE_WITHIN_PERCENT,
    EmulatedRate,
    EmulatorCell,
    EmulatorPlan,
    RoundTrip,
)
from netlab.qualify.calibration.one_table import rows_of
from netlab.qualify.calibration.verdicts import (
    DISTURBED,
    EVERY_TRY,
    NOT_MEASURED,
    OUTSIDE,
    RATE_HEADS,
    WITHIN,
    all_flags,
    too_few,
    undisturbed,
)

CellT = TypeVar("CellT", RoundTrip, EmulatedRate)

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
HEADS = {
    "rtt_ms": "RTT asked, ms",
    "goodput_Mbps": "load, Mb/s",
    "mean_ms": "median, ms",
    "deviation_us": "off by, us",
    "least_us": "least, us",
    "greatest_us": "greatest, us",
    "bound_us": "bound, us",
    "late_us": "late, us",
    **RATE_HEADS,
}
FORMATS = {
    **dict.fromkeys(("mean_ms", "expected_MBps", "goodput_MBps"), ".3f"),
    **dict.fromkeys(("goodput_Mbps", "bound_us", "late_us"), ".0f"),
    **dict.fromkeys(("rtt_ms", "rate_Mbps"), "g"),
    **dict.fromkeys(("deviation_us", "least_us", "greatest_us"), "+.0f"),
    **dict.fromkeys(("error_percent", "least_percent", "greatest_percent"), "+.2f"),
    "within_percent": ".1f",
}
RATES_NOTE = "What TCP can carry is MSS / (MTU + 14) of the rate."


@dataclass(frozen=True, eq=False)
class EmulatorAccuracy:
    """Measured round trips and rates of the emulator, compared with its settings."""

    plan: EmulatorPlan
    round_trips: pd.DataFrame
    rates: pd.DataFrame
    samples: list[dict]
    machine: dict

    @classmethod
    def of(cls, plan: EmulatorPlan, samples: list[dict], machine: dict) -> EmulatorAccuracy:
        """Compute cells and verdicts of a plan from its samples."""
        return cls(
            plan,
            _rows_of(plan.round_trips, samples, _round_trip, ROUND_TRIP_COLUMNS),
            _rows_of(plan.rates, samples, _rate, RATE_COLUMNS),
            samples,
            machine,
        )

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every cell."""
        return [*self.round_trips["verdict"], *self.rates["verdict"]]

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

    def to_text(self) -> str:
        """Both tables for a terminal."""
        tables = [table for table in self.tables().values() if len(table.frame)]
        said = [f"{table.caption}\n{rows_of(table)}\n" for table in tables]
        return "\n".join([*said, self._trips_note, RATES_NOTE, self._note])

    def as_json(self) -> dict:
        """Settings, cells and every try as JSON values."""
        return {
            "settings": {**asdict(self.plan), "congestion": CONGESTION},
            "round_trips": self.round_trips.to_dict("records"),
            "rates": self.rates.to_dict("records"),
            "samples": self.samples,
        }


def _rows_of(
    cells: Iterable[CellT],
    samples: list[dict],
    figures: Callable[[CellT, list[dict]], dict],
    columns: tuple[str, ...],
) -> pd.DataFrame:
    """Cells as rows: the figures of all tries, and the verdict."""
    rows = []
    for cell in cells:
        tries = [one for one in samples if cell.key.items() <= one.items()]
        measured = [one for one in tries if cell.excess(one) is not None]
        rows.append(
            {
                **cell.key,
                **figures(cell, measured),
                "late_us": _median(measured, "emulator_late_us"),
                "tries": len(tries),
                "verdict": judge(cell, tries),
                "flags": all_flags(tries),
            }
        )
    frame = pd.DataFrame.from_records(rows, columns=list(columns))
    numbers = [name for name in columns if name in FORMATS]
    return frame.astype(dict.fromkeys(numbers, float))


def judge(cell: EmulatorCell, tries: list[dict]) -> str:
    """The verdict of a cell, on the median of all its tries that have a figure."""
    known = [(off, one) for one in tries if (off := cell.excess(one)) is not None]
    if too_few(known, len(tries)):
        return NOT_MEASURED
    if abs(float(np.median([off for off, _ in known]))) <= 1:
        return WITHIN
    # Other work on the machine never shortens a round trip, nor raises a rate.
    beyond = [(off, one) for off, one in known if abs(off) > 1]
    clean = any(undisturbed(one) or off < -1 for off, one in beyond)
    return OUTSIDE if clean else DISTURBED


def _values(tries: list[dict], name: str) -> list[float]:
    """A figure of every try that has it."""
    return [float(one[name]) for one in tries if one.get(name) is not None]


def _median(tries: list[dict], name: str) -> float:
    """Median of a figure over the tries that have it; NaN if none has."""
    values = _values(tries, name)
    return float(np.median(values)) if values else np.nan


def _round_trip(cell: RoundTrip, tries: list[dict]) -> dict:
    off_us = [1e3 * (mean_ms - cell.rtt_ms) for mean_ms in _values(tries, "mean_ms")]
    return {
        "goodput_Mbps": 8 * _median(tries, "goodput_MBps"),
        "mean_ms": _median(tries, "mean_ms"),
        "deviation_us": 1e3 * (_median(tries, "mean_ms") - cell.rtt_ms),
        "least_us": min(off_us, default=np.nan),
        "greatest_us": max(off_us, default=np.nan),
        "bound_us": cell.bound_us,
        "pings": sum(one.get("pings", 0) for one in tries),
    }


def _rate(cell: EmulatedRate, tries: list[dict]) -> dict:
    errors = [
        100 * (goodput / cell.expected_MBps - 1) for goodput in _values(tries, "goodput_MBps")
    ]
    return {
        "expected_MBps": cell.expected_MBps,
        "goodput_MBps": _median(tries, "goodput_MBps"),
        "error_percent": float(np.median(errors)) if errors else np.nan,
        "least_percent": min(errors, default=np.nan),
        "greatest_percent": max(errors, default=np.nan),
        "within_percent": RATE_WITHIN_PERCENT,
    }
