"""Accuracy of the path emulator: cells, verdicts and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np
import pandas as pd
from scipy.special import stdtrit

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
    full_load,
)
from netlab.qualify.calibration.verdicts import (
    DISTURBED,
    NOT_MEASURED,
    OUTSIDE,
    RATE_HEADS,
    WITHIN,
    all_flags,
    undisturbed,
)

CellT = TypeVar("CellT", RoundTrip, EmulatedRate)

CONFIDENCE = 0.95

ROUND_TRIP_COLUMNS = (
    *("rtt_ms", "load", "goodput_Mbps", "mean_ms", "low_ms", "high_ms", "deviation_us"),
    *("bound_us", "late_us", "pings", "tries", "verdict", "flags"),
)
RATE_COLUMNS = (
    *("rate_Mbps", "rtt_ms", "mtu_B", "expected_MBps", "goodput_MBps", "error_percent"),
    *("within_percent", "late_us", "tries", "verdict", "flags"),
)
HEADS = {
    "rtt_ms": "RTT asked, ms",
    "goodput_Mbps": "load, Mb/s",
    "mean_ms": "mean, ms",
    "low_ms": "95 % from, ms",
    "high_ms": "to, ms",
    "deviation_us": "off by, us",
    "bound_us": "bound, us",
    "late_us": "late, us",
    **RATE_HEADS,
}
FORMATS = {
    **dict.fromkeys(("mean_ms", "low_ms", "high_ms", "expected_MBps", "goodput_MBps"), ".3f"),
    **dict.fromkeys(("goodput_Mbps", "bound_us", "late_us"), ".0f"),
    **dict.fromkeys(("rtt_ms", "rate_Mbps"), "g"),
    "deviation_us": "+.0f",
    "error_percent": "+.2f",
    "within_percent": ".1f",
}
RATES_NOTE = "What TCP can carry is MSS / (MTU + 14) of the rate."


@dataclass(frozen=True, eq=False)
class EmulatorAccuracy:
    """Measured round trips and rates of the emulator, compared with its settings.

    Attributes
    ----------
    round_trips : DataFrame
        :data:`ROUND_TRIP_COLUMNS`, one row a round-trip time and load, from the nearest try.
    rates : DataFrame
        :data:`RATE_COLUMNS`, one row a rate.
    samples : list of dict
        Every try.
    machine : dict
        Facts of the host.
    """

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
            "Late: what all but one in 100 of the emulator's writes stayed within. A figure that "
            "other work on the machine can have put off its bound, or whose load fell short, is "
            f"measured again, up to {self.plan.tries} times in all."
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
        said = [f"{table.caption}\n{_text(table.frame.reset_index())}\n" for table in tables]
        return "\n".join([*said, self._trips_note, RATES_NOTE, self._note])

    def as_json(self) -> dict:
        """Settings, cells and every try as JSON values."""
        return {
            "settings": {**asdict(self.plan), "congestion": CONGESTION},
            "round_trips": self.round_trips.to_dict("records"),
            "rates": self.rates.to_dict("records"),
            "samples": self.samples,
        }


def _text(frame: pd.DataFrame) -> str:
    def shown(column: str) -> Callable[[float], str]:
        return lambda value: "-" if pd.isna(value) else format(value, FORMATS[column])

    formatters = {HEADS[name]: shown(name) for name in frame if name in FORMATS}
    return frame.rename(columns=HEADS).to_string(index=False, na_rep="-", formatters=formatters)


def _rows_of(
    cells: Iterable[CellT],
    samples: list[dict],
    figures: Callable[[CellT, dict], dict],
    columns: tuple[str, ...],
) -> pd.DataFrame:
    """Cells as rows: the figures of the nearest try, and the verdict."""
    rows = []
    for cell in cells:
        tries = [one for one in samples if cell.key.items() <= one.items()]
        verdict, nearest = judge(cell, tries)
        rows.append(
            {
                **cell.key,
                **figures(cell, nearest),
                "late_us": nearest.get("emulator_late_us"),
                "tries": len(tries),
                "verdict": verdict,
                "flags": nearest.get("flags", all_flags(tries)),
            }
        )
    frame = pd.DataFrame.from_records(rows, columns=list(columns))
    numbers = [name for name in columns if name in FORMATS]
    return frame.astype(dict.fromkeys(numbers, float))


def judge(cell: EmulatorCell, tries: list[dict]) -> tuple[str, dict]:
    """The verdict of a cell, and its nearest try; empty if no try has a figure."""
    known = [(off, one) for one in tries if (off := cell.excess(one)) is not None]
    if not known:
        return NOT_MEASURED, {}
    # If no try was under the full load, their flag says so.
    known = [(off, one) for off, one in known if full_load(one) or off < -1] or known
    least, nearest = min(known, key=lambda pair: abs(pair[0]))
    if abs(least) <= 1:
        return WITHIN, nearest
    # Other work on the machine never shortens a round trip, nor raises a rate.
    clean = any(undisturbed(one) or off < -1 for off, one in known)
    return (OUTSIDE if clean else DISTURBED), nearest


def _known(sample: dict, name: str) -> float:
    """A figure of a try; NaN if it has none."""
    value = sample.get(name)
    return np.nan if value is None else float(value)


def _round_trip(cell: RoundTrip, sample: dict) -> dict:
    mean_ms, mdev_ms = _known(sample, "mean_ms"), sample.get("mdev_ms")
    half_ms = half_width_ms(mdev_ms, sample.get("pings", 0))
    return {
        "goodput_Mbps": 8 * _known(sample, "goodput_MBps"),
        "mean_ms": mean_ms,
        "low_ms": mean_ms - half_ms,
        "high_ms": mean_ms + half_ms,
        "deviation_us": 1e3 * (mean_ms - cell.rtt_ms),
        "bound_us": cell.bound_us,
        "pings": sample.get("pings", 0),
    }


def half_width_ms(mdev_ms: float | None, pings: int) -> float:
    """Half of the 95 % interval of a mean of pings, taken as independent of each other.

    Parameters
    ----------
    mdev_ms : float or None
        The standard deviation that ping prints (divisor: the number of pings).
    pings : int
        Answered pings.

    Returns
    -------
    float
        NaN if unknown.
    """
    if mdev_ms is None or pings < 2:
        return np.nan
    t = stdtrit(pings - 1, (1 + CONFIDENCE) / 2)
    return float(t * mdev_ms / np.sqrt(pings - 1))


def _rate(cell: EmulatedRate, sample: dict) -> dict:
    goodput_MBps = _known(sample, "goodput_MBps")
    return {
        "expected_MBps": cell.expected_MBps,
        "goodput_MBps": goodput_MBps,
        "error_percent": 100 * (goodput_MBps / cell.expected_MBps - 1),
        "within_percent": RATE_WITHIN_PERCENT,
    }
