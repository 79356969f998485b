"""Tables of the shares of several flows: each stack, Jain's index, and every stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from netlab.analysis import cell_texts, later_flows, printed, share_over_time, shares
from netlab.analysis.measured import Measured
from netlab.charts import cell_rows
from netlab.charts import shares as charts
from netlab.charts.chart import Gallery
from netlab.files.tables import HOLLOW, Sentence, Table
from netlab.study.base import controls

NONE = "No run of several streams counted the bytes of each."
NOT_MIXED = "No cell has streams of several congestion controls."
NOTE = (
    "Of the bytes in the measured window: mean over the valid runs, with its interval from three "
    "rounds on, cut at 0 and 100 %."
)
NO_NEWCOMERS = "No cell has flows that start after others, on links that all pass."
NEWCOMERS_NOTE = (
    "Share of the bytes in the window while all flows are on. The time is from their start until a "
    "running mean of five round trips, at least 1 s, gives them 0.8 of an equal share."
)
JAIN_NOTE = "1: equal shares; 1/n: one of n flows has everything. Mean over the valid runs."


def mixed(m: Measured) -> pd.DataFrame:
    """Shares of the stacks in cells of several of them."""
    frame = shares.of_stacks(m)
    return frame[frame["flows"] < frame["of_flows"]]


def stacks(m: Measured) -> Table | Sentence:
    """Share of each stack in every cell of mixed stacks."""
    frame = mixed(m)
    if frame.empty:
        return Sentence(NONE if shares.of_streams(m).empty else NOT_MIXED)
    names = shares.stack_names(frame["control"].unique())
    shown = _rows(
        m,
        frame,
        lambda row: {
            "stack": names[row["control"]],
            "flows": f"{row['flows']} of {row['of_flows']}",
            "share, %": _share(row),
            "equal share, %": cell_texts.number(100 * row["flows"] / row["of_flows"]),
            "Mb/s a flow": cell_texts.number(8 * row["flow_MBps"]),
        },
    )
    return Table(shown, "Share of each stack", note=_note(NOTE, frame), data=frame)


def jain(m: Measured) -> Table | Sentence:
    """Jain's index of every cell of several flows."""
    frame = shares.of_jain(m)
    if frame.empty:
        return Sentence(NONE)
    ends = ("jain_index", "jain_low", "jain_high")
    shown = _rows(
        m,
        frame,
        lambda row: {
            "stacks": shares.stacks_text(controls(row["congestion"])),
            "flows": row["of_flows"],
            "Jain's index": _marked(row, _interval(*(row[name] for name in ends))),
        },
    )
    return Table(shown, "Jain's index", note=_note(JAIN_NOTE, frame), data=frame)


def newcomers(m: Measured) -> Table | Sentence:
    """Flows that start after others: their share, and the time until it is nearly equal."""
    frame = later_flows.of_newcomers(m)
    if frame.empty:
        return Sentence(NO_NEWCOMERS)
    names = shares.stack_names(frame["control"].unique())
    shown = _rows(
        m,
        frame,
        lambda row: {
            "newcomers": f"{row['flows']} {names[row['control']]}",
            "from, s": cell_texts.number(row["start_s"]),
            "share, %": _share(row),
            "equal share, %": cell_texts.number(100 * row["flows"] / row["of_flows"]),
            "s until 0.8 of it": _fair(row),
        },
    )
    return Table(shown, "Share of newcomers", note=_note(NEWCOMERS_NOTE, frame), data=frame)


def _fair(row: dict) -> str:
    """``2.4``, ``2.4 in 3 of 5 runs``, or ``not reached``."""
    if not row["n_fair"]:
        return "not reached"
    text = cell_texts.number(row["fair_after_s"])
    return (
        text
        if row["n_fair"] == row["n_runs"]
        else f"{text} in {row['n_fair']} of {row['n_runs']} runs"
    )


def streams(m: Measured) -> Table | Sentence:
    """Share of every stream of every cell."""
    frame = shares.of_each_stream(m)
    if frame.empty:
        return Sentence(NONE)
    names = shares.stack_names(frame["control"].unique())
    shown = _rows(
        m,
        frame,
        lambda row: {
            "stream": row["stream"],
            "stack": names[row["control"]],
            "share, %": _share(row),
            "Mb/s": cell_texts.number(8 * row["goodput_MBps"]),
        },
    )
    return Table(shown, "Share of every stream", note=_note(NOTE, frame), data=frame)


def _share(row: dict) -> str:
    ends = ("share_percent", "share_low_percent", "share_high_percent")
    return _marked(row, cell_texts.with_interval(*(row[name] for name in ends)))


def _interval(value: float, low: float, high: float) -> str:
    """An index with three decimals."""
    if pd.isna(low):
        return f"{value:.3f}"
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def _marked(row: dict, text: str) -> str:
    return f"{HOLLOW} {text}" if row["disturbed"] else text


def _note(note: str, frame: pd.DataFrame) -> str:
    if (frame["disturbed"] != "").any():
        note += f" {HOLLOW}: median of flagged runs, not a result."
    return note


def _rows(m: Measured, frame: pd.DataFrame, row_of: Callable[[dict], dict]) -> pd.DataFrame:
    labels = cell_texts.tuning_labels(m.cells, m.study)
    several, ways = frame["group"].nunique() > 1, frame["way"].nunique() > 1
    header = "link" if frame["way"].isin(shares.LINKS.values()).any() else "direction"
    rows: list[dict[str, Any]] = []
    for row in frame.to_dict("records"):
        named = {"group": row["group"]} if several else {}
        named["cell"] = printed.where(row, labels)
        named |= {header: row["way"]} if ways else {}
        rows.append(named | row_of(row) | {"runs": row["n_runs"]})
    return pd.DataFrame(rows)


def drawn(m: Measured) -> dict[str, Gallery]:
    """Charts of each group that has cells of several flows."""
    index, of_stacks = shares.of_jain(m), mixed(m)
    labels, found = cell_rows.row_labels(m.cells, m.study), {}
    for group, part in index.groupby("group", sort=False):
        own = of_stacks[of_stacks["group"] == group]
        axes: list = [charts.stacks(some, labels) for some in _parts(own)]
        axes += [charts.jain(some, labels) for some in _parts(part)]
        if timelines := share_over_time.timelines_of(m, str(group)):
            axes.append(charts.over_time_panels(timelines, labels, str(group)))
        if late := [one for one in timelines if one.newcomers]:
            axes.append(charts.newcomer_panels(late, labels, str(group)))
        found[str(group)] = Gallery.of(*axes)
    return found


def _parts(frame: pd.DataFrame) -> Sequence[pd.DataFrame]:
    return list(cell_rows.in_parts(frame)) if len(frame) else []
