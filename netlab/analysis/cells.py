"""Runs to cells: all rounds of the same factor levels become one number with an interval."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from netlab.analysis.batches import batch_interval, window_rates
from netlab.analysis.cell_precision import nominal_level, rounds_needed
from netlab.analysis.intervals import log_interval
from netlab.analysis.t_distribution import t_quantile
from netlab.errors import check
from netlab.results.flags import BROKEN, split_flags
from netlab.study import Study
from netlab.study.factors import levels_json

CELL_KEYS = ("group", "tuning", "mtu_B", "streams", "factors")
"""Columns that identify a cell; table, path and direction follow from the group."""

LEVELS = ("path", "sender", "direction", *CELL_KEYS[1:])
"""Columns that tell a cell's conditions, by whatever group: analyses that compare groups take it.

``factors`` has every further factor and every outer one.
"""


FROM_ROUNDS = "rounds"
FROM_RUN = "within a run"
FROM_NOTHING = "none"
"""Origin of a cell's interval. One within a run, by batch means, has columns of its own: it says
how steady that run was, not where a repeated measurement would lie."""

UNKNOWN_MTU_B = 0
"""MTU of a cell that was to be measured as found, and was not."""

CELL_COLUMNS = (
    *("group", "table", "path", "direction", "tuning", "mtu_B", "streams", "factors"),
    *("goodput_MBps", "low_MBps", "high_MBps", "half_width_MBps", "half_width_percent"),
    *("interval_from", "within_low_MBps", "within_high_MBps"),
    *("n_valid", "n_flagged", "rounds_needed", "sd_MBps", "spread_percent", "packet_B"),
    *("bus_MBps", "percent_of_bus", "percent_low", "percent_high"),
    *("disturbed_MBps", "disturbed", "missing_because"),
)

LATENCY, OVER_TCP, DATAGRAMS = "added_latency_us", "tcp_rtt_loaded_p50_us", "lost_percent"
"""Column that every run with a latency probe, with one over TCP, or of UDP, has."""

FURTHER = {
    LATENCY: (
        *("rtt_idle_p50_us", "rtt_loaded_p50_us", "rtt_loaded_p99_us"),
        *("added_latency_us", "added_forward_us", "added_return_us", "responsiveness_rpm"),
    ),
    OVER_TCP: ("tcp_rtt_idle_p50_us", "tcp_rtt_loaded_p50_us", "tcp_rtt_loaded_p99_us"),
    DATAGRAMS: ("lost_percent", "jitter_us", "loss_burst_max"),
}
"""Columns of a cell whose runs have such figures: medians over its valid runs."""

FURTHER_COLUMNS = tuple(name for names in FURTHER.values() for name in names)


def valid(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs without a flag and with a finite goodput."""
    good = runs["goodput_MBps"].notna() & np.isfinite(runs["goodput_MBps"].astype(float))
    return runs[(runs["flags"].fillna("") == "") & good]


def usable(runs: pd.DataFrame) -> pd.DataFrame:
    """The valid runs that moved bytes."""
    good = valid(runs)
    return good[good["goodput_MBps"] > 0]


def ended(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs that went on to their end, flagged ones included."""
    whole = ~runs["flags"].fillna("").str.split(",").map(BROKEN.intersection).astype(bool)
    return runs[whole & np.isfinite(_rates(runs))]


def _rates(runs: pd.DataFrame) -> pd.Series:
    """Rates of flagged runs too: of an unsteady one what it sustained, without its burst."""
    rates = runs["goodput_MBps"].astype(float).fillna(runs["sent_MBps"].astype(float))
    return runs["sustained_MBps"].astype(float).fillna(rates)


def mean_interval(values: np.ndarray, confidence: float) -> tuple[float, float]:
    """Mean of independent values and half the width of its Student t interval."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n < 2:
        return float(values[0]) if n else math.nan, math.nan
    t = t_quantile(n - 1, 0.5 + confidence / 2)
    return float(values.mean()), float(t * values.std(ddof=1) / math.sqrt(n))


@dataclass(frozen=True)
class Cells:
    """Aggregation of runs into cells. Call it with frames."""

    confidence: float = 0.95
    target_percent: float | None = None

    @classmethod
    def of(cls, study: Study) -> Self:
        """The aggregation for a study: its level of confidence, and the precision it asks for."""
        asked = study.precision
        return cls(nominal_level(study), None if asked is None else asked.half_width_percent)

    def __post_init__(self) -> None:
        fine, text = 0.5 < self.confidence < 1, "must lie between 0.5 and 1"
        check(fine, "confidence", self.confidence, text, "E-ANALYSIS-002")

    def __call__(
        self, runs: pd.DataFrame, intervals: pd.DataFrame | None = None, study: Study | None = None
    ) -> pd.DataFrame:
        parts, whole, every = (_by_cell(some) for some in (valid(runs), ended(runs), runs))
        described, samples, none = _described(runs, study), _samples(intervals, parts), runs.head(0)
        rows = [
            self._row(key, [of.get(key, none) for of in (parts, whole, every)], samples, described)
            for key in dict.fromkeys([*_design(study, every), *every])
        ]
        frame = pd.DataFrame.from_records(rows, columns=list(CELL_COLUMNS))
        counts = {"mtu_B": "int64", "streams": "int64", "n_valid": "int64", "n_flagged": "int64"}
        frame = frame.astype({**counts, "table": "Int64"} | dict.fromkeys(_FLOATS, "float64"))
        for known, names in FURTHER.items():
            of_cells = valid(runs[runs[known].notna()]).groupby(list(CELL_KEYS), sort=False)
            medians = of_cells[list(names)].median()
            frame = frame.join(medians, on=list(CELL_KEYS)) if len(medians) else frame
        return frame

    def _row(self, key, runs, samples, described) -> dict:
        part, whole, every = runs
        n, values = len(part), part["goodput_MBps"].to_numpy(dtype=float)
        row = {**described[key[0]], **dict(zip(CELL_KEYS, key, strict=True))}
        row |= {"n_valid": n, "n_flagged": len(every) - n, "interval_from": FROM_NOTHING}
        row |= {"disturbed": "", "missing_because": ""}
        row["packet_B"] = (part if n else whole)["packet_B"].astype("float64").min()
        if n == 0:
            row["missing_because"] = missing_reason(every["flags"].tolist())
            if len(whole):
                row["disturbed"] = ", ".join(flags_in(whole["flags"]))
                row["disturbed_MBps"] = float(_rates(whole).median())
                row["bus_MBps"] = _bus(whole, row)
            return row
        found = log_interval(values, self.confidence)
        mean = found.mean
        if n > 1:
            row["sd_MBps"] = float(values.std(ddof=1))
            row["spread_percent"] = 100 * float(np.ptp(values)) / mean if mean > 0 else math.nan
            if not math.isnan(found.low):
                row["interval_from"] = FROM_ROUNDS
        elif (rates := samples.get(part["run_id"].iloc[0])) is not None and mean > 0:
            within = batch_interval(rates, self.confidence)
            if not math.isnan(within.low):
                row["interval_from"], scale = FROM_RUN, mean / within.mean
                row |= {"within_low_MBps": scale * within.low}
                row |= {"within_high_MBps": scale * within.high}
        row |= {"goodput_MBps": mean, "low_MBps": found.low, "high_MBps": found.high}
        row["half_width_MBps"] = found.half_width
        row["half_width_percent"] = 100 * found.half_width / mean if mean > 0 else math.nan
        if self.target_percent is not None:
            row["rounds_needed"] = rounds_needed(values, self.target_percent, self.confidence)
        row["bus_MBps"] = bus = _bus(part, row)
        if bus is not None and bus > 0:
            row["percent_of_bus"] = 100 * mean / bus
            row["percent_low"] = 100 * found.low / bus
            row["percent_high"] = 100 * found.high / bus
        return row


def with_further(kind: str, cells: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Cells with further figures of a kind; those of a flagged cell are of runs that ended."""
    keys, names = list(CELL_KEYS), list(FURTHER[kind])
    of_ended = cells[keys].join(ended(runs).groupby(keys)[names].median(), on=keys)[names]
    shown = of_ended.where(cells["disturbed"] != "", cells.reindex(columns=names))
    frame = cells.drop(columns=names, errors="ignore").join(shown)
    return frame[frame[kind].notna()]


def _bus(runs: pd.DataFrame, described: dict) -> float | None:
    measured = runs["bus_MBps"].dropna()
    return float(measured.iloc[0]) if len(measured) else described["bus_MBps"]


def disturbed(cells: pd.DataFrame, quantity: str = "goodput_MBps") -> pd.Series:
    """Medians of the flagged cells in MB/s, or ``percent_of_bus``; NaN for all others."""
    rates = cells["disturbed_MBps"]
    return 100 * rates / cells["bus_MBps"] if quantity == "percent_of_bus" else rates


def empty(cells: pd.DataFrame) -> pd.Series:
    """Mask of the cells of which no run ended: they have neither a goodput nor a median."""
    return cells["goodput_MBps"].isna() & cells["disturbed_MBps"].isna()


def reached_percent(cells: pd.DataFrame) -> pd.Series:
    """Half width in per cent of the mean of intervals over rounds, else NaN: a run sees one."""
    return cells["half_width_percent"].where(cells["interval_from"] == FROM_ROUNDS)


_FLOATS = (
    *(c for c in CELL_COLUMNS if c.endswith("_MBps") or c.startswith("percent_")),
    *("spread_percent", "half_width_percent", "rounds_needed", "packet_B"),
)


def _by_cell(runs: pd.DataFrame) -> dict[tuple, pd.DataFrame]:
    """The runs of each cell; with all columns it takes four times as long."""
    needed = [*CELL_KEYS, "run_id", "flags", "bus_MBps", "packet_B"]
    needed += ["goodput_MBps", "sent_MBps", "sustained_MBps"]
    of_cells = runs[needed].groupby(list(CELL_KEYS), sort=False)
    return dict(list(of_cells))


def _design(study: Study | None, measured: Collection[tuple]) -> Iterator[tuple]:
    """Keys of the cells of a design; an MTU left as found is that of the nearest measured cells."""
    if study is None:
        return
    for group in study.groups:
        for one in study.combinations(group):
            streams, factors = one.streams, levels_json(one.levels)
            if one.mtu_B is not None:
                yield group.name, one.tuning, one.mtu_B, streams, factors
                continue
            of_tuning = [key for key in measured if key[1] == one.tuning]
            of_group = [key for key in of_tuning if key[0] == group.name]
            of_cell = [key for key in of_group if key[3:] == (streams, factors)]
            known = of_cell or of_group or of_tuning
            for found_B in sorted({key[2] for key in known}) or [UNKNOWN_MTU_B]:
                yield group.name, one.tuning, found_B, streams, factors


def _described(runs: pd.DataFrame, study: Study | None) -> dict[str, dict]:
    constant = ["table", "path", "direction", "bus_MBps"]
    described = runs.groupby("group", sort=False)[constant].first().to_dict("index")
    if study is None:
        return described
    for group in study.groups:
        bus = study.bus_of_group_MBps(group)
        described[group.name] = {
            "table": pd.NA if group.table is None else group.table,
            "path": group.path,
            "direction": group.direction,
            "bus_MBps": math.nan if bus is None else bus,
        }
    return described


def _samples(intervals: pd.DataFrame | None, parts: dict) -> dict[str, np.ndarray]:
    if intervals is None or intervals.empty:
        return {}
    single = {part["run_id"].iloc[0] for part in parts.values() if len(part) == 1}
    rates = window_rates(intervals[intervals["run_id"].isin(single)])
    return {run_id: part.to_numpy(dtype=float) for run_id, part in rates.groupby(level=0)}


def missing_reason(all_flags: Sequence[str | None]) -> str:
    """Reason why a cell has no valid run, from the flags of all its runs."""
    count = f"{len(all_flags)} run" + ("s" if len(all_flags) > 1 else "")
    if flags := flags_in(all_flags):
        return f"{count}, all flagged: {', '.join(flags)}"
    return f"{count} without a goodput" if all_flags else "not measured"


def flags_in(texts: Iterable[Any]) -> list[str]:
    """Every flag of some runs once, from their column ``flags``."""
    return sorted({flag for text in texts for flag in split_flags(text)})
