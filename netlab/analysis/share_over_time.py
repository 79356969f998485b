"""Running means of the rates of the streams of one run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.measured import Measured
from netlab.analysis.shares import LINKS, controls_of_streams, counted_streams, of_jain
from netlab.measure.fairness import jain
from netlab.study import flows as unequal
from netlab.study.flows import PlannedFlow


def rates_of(m: Measured, run_id: str, way: str, rtt_us: float) -> pd.DataFrame:
    assert m.samples is not None
    own = m.samples({run_id})
    own = own[own["direction"] == way]
    return rates_over_time(own, 0.0 if pd.isna(rtt_us) else rtt_us / 1e6)


SHARE_ROUND_TRIPS = 5.0
"""Least round trips that a share covers: flows are bursty, one window at a time."""

LEAST_SHARE_S = 1.0


def rates_over_time(intervals: pd.DataFrame, rtt_s: float) -> pd.DataFrame:
    """Running mean of the goodput of every flow of a run, Mb/s, and the index at every sample."""
    inside = intervals[intervals["in_window"]]
    until_s = inside["t_s"].max() if len(inside) else -math.inf
    kept = intervals[intervals["t_s"] <= until_s + 1e-9]
    moved = kept.pivot_table(index="t_s", columns="stream", values="bytes", aggfunc="sum")
    if moved.empty:
        return pd.DataFrame(columns=["jain"])
    step_s = kept.groupby("t_s")["interval_s"].max()
    width = max(1, round(max(SHARE_ROUND_TRIPS * rtt_s, LEAST_SHARE_S) / float(step_s.median())))
    summed = moved.rolling(width, min_periods=width).sum()
    lasted = step_s.rolling(width, min_periods=width).sum()
    rates = summed.mul(8e-6).div(lasted, axis=0).dropna()
    return rates.assign(jain=jain(rates.to_numpy()) if len(rates) else [])


MOST_OVER_TIME = 6
"""Cells of a group that are drawn over time: the least even ones."""


@dataclass(frozen=True)
class OverTime:
    """The median run of a cell over time: a column a stream, Mb/s, and Jain's index."""

    key: tuple
    run_id: str
    controls: tuple[str, ...]
    jain_index: float
    rates: pd.DataFrame
    flows: tuple[PlannedFlow, ...] = ()
    way: str = "forward"

    @property
    def newcomers(self) -> bool:
        """True if flows start after others on links that all pass."""
        late = len({flow.start_s for flow in self.flows}) > 1
        return late and not unequal.has_spans(self.flows)

    def index_text(self) -> str:
        """``index 0.83``, or that of the less even one of two links."""
        of = f" of the {self.way}" if self.way in LINKS.values() else ""
        return f"index {self.jain_index:.2f}{of}"


def timelines_of(m: Measured, group: str) -> list[OverTime]:
    """Run nearest to the mean index of each of the least even cells of a group."""
    drawn: list[OverTime] = []
    known, streams = of_jain(m), counted_streams(m)
    if m.samples is None:
        return drawn
    known, streams = (
        frame[(frame["group"] == group) & (frame["way"] != "reverse")] for frame in (known, streams)
    )
    known = known.sort_values("jain_index", kind="stable").drop_duplicates([*CELL_KEYS])
    of_cells, runs = streams.groupby(list(CELL_KEYS)), m.runs.set_index("run_id")
    for cell in known.nsmallest(MOST_OVER_TIME, "jain_index").sort_index().to_dict("records"):
        whole = of_cells.get_group(tuple(cell[name] for name in CELL_KEYS))
        part = whole[whole["way"] == cell["way"]]
        wide = part.pivot_table(index="run_id", columns="stream", values="goodput_MBps")
        indices = pd.Series(np.atleast_1d(jain(wide.to_numpy())), wide.index)
        run_id = str((indices - cell["jain_index"]).abs().idxmin())
        rates = rates_of(m, run_id, "forward", runs["rtt_us"][run_id])
        if len(rates) > 1:
            text = runs["flows"][run_id]
            # also of streams of a link that carried nothing
            dealt_to = controls_of_streams(runs["congestion"][run_id], text)
            streams_drawn = rates.columns.drop("jain")
            controls = tuple(dealt_to[stream % len(dealt_to)] for stream in streams_drawn)
            key = tuple(cell[name] for name in CELL_KEYS)
            flows = unequal.from_text(text)
            index = float(indices[run_id])
            drawn.append(OverTime(key, run_id, controls, index, rates, flows, cell["way"]))
    return drawn
