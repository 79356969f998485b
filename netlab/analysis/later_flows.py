"""Streams that begin later than others: how soon each has its fair share."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from netlab.analysis.cell_precision import nominal_level
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.measured import Measured, computed_once
from netlab.analysis.share_over_time import rates_of
from netlab.analysis.shares import LINKS, counted_streams, figure
from netlab.study import flows as unequal
from netlab.study.flows import PlannedFlow

NEWCOMER_COLUMNS = (
    *(*CELL_KEYS, "way", "control", "flows", "of_flows", "start_s", "n_runs", "share_percent"),
    *("share_low_percent", "share_high_percent", "n_fair", "fair_after_s", "disturbed"),
)


FAIR_PART = 0.8
"""Part of an equal share at which newcomers have arrived."""


@computed_once
def of_newcomers(m: Measured) -> pd.DataFrame:
    """Flows that start after others: their share while all are on, and when they first have it.

    ``fair_after_s`` is the mean time from their start until a running mean gives them
    :data:`FAIR_PART` of an equal share, of the ``n_fair`` runs in which they reach it.
    """
    rows, level = [], nominal_level(m.study)
    runs, streams = m.runs.set_index("run_id"), counted_streams(m)
    late = {text for text in runs["flows"].unique() if _starts_at_several_times(text)}
    places = streams["place"][streams["run_id"].isin(runs.index[runs["flows"].isin(late)])]
    for _, part in streams[streams["place"].isin(places)].groupby("place"):
        key = (*part[list(CELL_KEYS)].iloc[0], part["way"].iloc[0])
        flows = unequal.from_text(runs["flows"][part["run_id"].iloc[0]])
        disturbed, of_flows = str(part["disturbed"].iloc[0]), part["stream"].nunique()
        if len({f.start_s for f in flows}) < 2 or key[-1] in LINKS.values():
            continue
        begun = {
            run_id: rates_of(m, str(run_id), key[-1], runs["rtt_us"][run_id])
            for run_id in part["run_id"].unique()
        }
        for at, flow in enumerate(flows):
            if flow.start_s == min(f.start_s for f in flows):
                continue
            own = part[part["stream"].isin(streams_of(flows, at, of_flows))]
            shares = own.groupby("run_id")["share_percent"].sum().to_numpy()
            times = [fair_after_s(rates, flows, at) for rates in begun.values()]
            fair = [time for time in times if time is not None]
            figures = figure(shares, 0.0, 100.0, level, disturbed)
            mean_s = float(np.mean(fair)) if fair else math.nan
            control, number = own["control"].iloc[0], own["stream"].nunique()
            counts = (number, of_flows, flow.start_s, len(times))
            rows.append((*key, control, *counts, *figures, len(fair), mean_s, disturbed))
    return pd.DataFrame.from_records(rows, columns=list(NEWCOMER_COLUMNS))


def _starts_at_several_times(flows: str) -> bool:
    return len({flow.start_s for flow in unequal.from_text(flows)}) > 1


def streams_of(flows: Sequence[PlannedFlow], at: int, of_flows: int) -> list[int]:
    """Streams of an entry of unequal flows."""
    entries = [entry for entry, flow in enumerate(flows) for _ in range(flow.count)]
    return [stream for stream in range(of_flows) if entries[stream % len(entries)] == at]


def _on(flow: PlannedFlow, t_s: np.ndarray) -> np.ndarray:
    return (t_s > flow.start_s) & (t_s <= (flow.end_s or math.inf))


def shares_over_time(
    rates: pd.DataFrame, flows: Sequence[PlannedFlow], at: int
) -> tuple[pd.Series, pd.Series]:
    """Share of an entry's flows at every sample, and their equal share of the flows on then, %."""
    of_streams, t_s = rates.drop(columns="jain"), rates.index.to_numpy()
    own = streams_of(flows, at, of_streams.shape[1])
    share = 100 * of_streams[own].sum(axis=1) / of_streams.sum(axis=1)
    on = sum(flow.count * _on(flow, t_s) for flow in flows)
    equal = 100 * flows[at].count * _on(flows[at], t_s) / np.maximum(on, 1)
    return share, pd.Series(equal, rates.index)


def fair_after_s(rates: pd.DataFrame, flows: Sequence[PlannedFlow], at: int) -> float | None:
    """Time from the start of an entry's flows to :data:`FAIR_PART` of an equal share."""
    share, equal = shares_over_time(rates, flows, at)
    fair = share.index[(equal > 0) & (share >= FAIR_PART * equal)]
    return float(fair[0] - flows[at].start_s) if len(fair) else None
