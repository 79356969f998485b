"""Charts of single runs over a long path: quantities over time, recovery, flows; their grids."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netlab.charts import looks
from netlab.charts.chart import Gallery, describe
from netlab.longpath.analysis import LongPath
from netlab.longpath.charts import DASHES, stack_style, star
from netlab.longpath.recovery import LAW_OF_STACK
from netlab.longpath.series import QUANTITIES

COLUMN_IN, ROW_IN = 2.35, 1.35
HEADROOM = 1.06
MARKS = "Dotted: end of slow start. Dashed: forced loss."
LAWS = "Grey: the published law from the same window on; FAST has none."
FLOWS = (
    "Running means of five round trips, at least a second. Each stack has its colour; of two "
    "flows of one stack the second is dotted."
)

Run = Mapping[str, Any]
"""A row of the table of a study."""


@looks.theme()
def over_time(lp: LongPath, runs: pd.DataFrame, title: str) -> Gallery:
    """Draw goodput, window, RTT, retransmits and queue over time, one column a run."""
    if runs.empty:
        return Gallery()
    shown = list(runs.to_dict("records"))
    all_series = [lp.series(run) for run in shown]
    quantities = [name for name in QUANTITIES if any(len(s[name]) for s in all_series)]
    fig, axes = _columns(title, len(quantities), len(shown), ROW_IN * len(quantities) + 0.7)
    for run, series, column in zip(shown, all_series, axes.T, strict=True):
        for ax, name in zip(column, quantities, strict=True):
            _quantity(ax, lp, run, series[name])
            ax.tick_params(labelsize=8)
        column[0].set_title(_column_title(lp, run), fontsize=9)
        column[-1].set_xlabel("s")
    for ax, name in zip(axes[:, 0], quantities, strict=True):
        top = max(series[name]["value"].max() for series in all_series if len(series[name]))
        ax.set_ylim(0, HEADROOM * max(1.0, top))
        ax.set_ylabel(QUANTITIES[name], fontsize=8.5)
    axes[0][0].set_xlim(left=0)
    words = "; ".join(_in_words(run, series) for run, series in zip(shown, all_series, strict=True))
    alt = (
        f"Line charts in a grid, {title}: one column a run, one row each for "
        f"{', '.join(QUANTITIES[name] for name in quantities)}, over time. {words}."
    )
    return Gallery.of(describe(fig, alt, MARKS + star(runs)))


def _columns(
    title: str, rows: int, runs: int, height_in: float, column_in: float = COLUMN_IN
) -> tuple[Figure, np.ndarray]:
    """A figure with a column a run; the axes of a row share their scale."""
    size_in = (max(4.2, column_in * runs + 0.6), height_in)
    fig, axes = plt.subplots(rows, runs, sharex=True, sharey="row", squeeze=False, figsize=size_in)
    fig.suptitle(title, x=0.02, ha="left", fontweight="bold", fontsize=10.5)
    return fig, axes


def _quantity(ax: Axes, lp: LongPath, run: Run, frame: pd.DataFrame) -> None:
    for stream, part in frame.groupby("stream"):
        colour = stack_style(lp.stack(run, int(stream)), int(stream))["color"]
        ax.plot(part["t_s"], part["value"], linewidth=1.1, color=colour,
                linestyle="-" if stream == 0 else "--")  # fmt: skip
    for name, dash in (("since_s", (0, (1, 1.5))), ("forced_loss_s", DASHES)):
        if pd.notna(at_s := run.get(name, math.nan)):
            ax.axvline(float(at_s), color=looks.CEILING_COLOUR, linewidth=0.9, linestyle=dash)


def _column_title(lp: LongPath, run: Run) -> str:
    """Stacks of a run without repetition, with a mark if it is flagged."""
    names = [lp.stack(run, stream) for stream in range(int(run["streams"]))]
    shown = names if len(set(names)) > 1 else [*names[:1], *(["twice"] if len(names) > 1 else [])]
    return ", ".join(shown) + ("*" if run["flags"] else "")


def _in_words(run: Run, series: dict[str, pd.DataFrame]) -> str:
    mean = run.get("mean_Mbps", math.nan)
    after = "never out of slow start" if math.isnan(mean) else f"{mean:.0f} Mb/s after slow start"
    top, again = (series[name]["value"].max() for name in ("window", "retransmits"))
    return f"{run['label']}: {after}, largest window {top:.0f} segments, {again:.0f} retransmits"


@looks.theme()
def recoveries(lp: LongPath, runs: pd.DataFrame, title: str) -> Gallery:
    """Draw windows after a forced loss, and the law of their stack from the least one on."""
    recovered = set(lp.recoveries["run_id"])
    shown = [run for run in runs.to_dict("records") if run["run_id"] in recovered]
    if not shown:
        return Gallery()
    fig, axes = _columns(title, 1, len(shown), 2.9)
    drawn = [_recovery(ax, lp, run) for ax, run in zip(axes[0], shown, strict=True)]
    words, tops = zip(*drawn, strict=True)
    axes[0][0].set(ylim=(0, HEADROOM * max(tops)), ylabel="window, segments")
    alt = (
        f"Line charts side by side, {title}: congestion window after one packet was dropped. "
        f"{'; '.join(words)}."
    )
    return Gallery.of(describe(fig, alt, LAWS + star(runs)))


def _recovery(ax: Axes, lp: LongPath, run: Run) -> tuple[str, float]:
    """Draw one recovery; return it in words, and its largest window."""
    row = lp.recoveries.set_index("run_id").loc[run["run_id"]]
    trace = lp.series(run)["window"]
    after = trace[trace["t_s"] >= row["loss_s"] - 0.5]
    style = stack_style(row["stack"]) | {"linestyle": "-", "linewidth": 1.3}
    ax.plot(after["t_s"] - row["loss_s"], after["value"], **style)
    _law(ax, row, after)
    ax.axvline(0, color=looks.CEILING_COLOUR, linewidth=0.9, linestyle=DASHES)
    ax.set_title(_column_title(lp, run), fontsize=9)
    ax.set_xlabel("s after the loss")
    back = "not back" if math.isnan(row["recovery_s"]) else f"back after {row['recovery_s']:.1f} s"
    ends = f"{row['before_segments']:.0f} to {row['least_segments']:.0f} segments"
    return f"{row['stack']}: {ends}, {back}", float(after["value"].max())


def _law(ax: Axes, row: pd.Series, after: pd.DataFrame) -> None:
    law = LAW_OF_STACK.get(row["stack"])
    if law is None or after.empty:
        return
    since = after["t_s"] - row["loss_s"]
    fallen = after[(since >= 0) & (after["value"] <= row["least_segments"] * 1.001)]
    start_s = float(fallen["t_s"].iloc[-1] - row["loss_s"]) if len(fallen) else 0.0
    window, t_s, line = float(row["least_segments"]), start_s, []
    while t_s <= since.max() and window <= row["before_segments"]:
        line.append((t_s, window))
        window += law.growth(window)
        t_s += row["rtt_ms"] / 1e3
    ax.plot(
        *zip(*line, strict=True), color=looks.CEILING_COLOUR, linewidth=2.4, alpha=0.55, zorder=1
    )


@looks.theme()
def sharing(lp: LongPath, runs: pd.DataFrame, title: str) -> Gallery:
    """Draw goodput of each flow above Jain's index, one column a run."""
    if runs.empty:
        return Gallery()
    shown = runs.to_dict("records")
    fig, axes = _columns(title, 2, len(shown), 3.9, 0.8 * COLUMN_IN)
    highest, words = 1.0, []
    for (top, bottom), run in zip(axes.T, shown, strict=True):
        over = lp.shares(run)
        names = [lp.stack(run, stream) for stream in range(int(run["streams"]))]
        for stream, name in enumerate(names):
            if stream in over:
                style = stack_style(name, stream) | {"linewidth": 1.4}
                if name in names[:stream]:  # the second flow of a stack has the same colour
                    style |= {"linestyle": (0, (1.5, 1.2)), "alpha": 0.75}
                top.plot(over.index, over[stream], **style)
                highest = float(np.nanmax([highest, over[stream].max()]))
        top.set_title(_column_title(lp, run), fontsize=8.5)
        bottom.plot(over.index, over["jain"], color=looks.CEILING_COLOUR, linewidth=1.4)
        bottom.set(xlabel="s", ylim=(0.45, 1.03))
        last = over["jain"].iloc[-1] if len(over) else math.nan
        words.append(f"{run['label']}: index {last:.2f} at the end")
    axes[0][0].set(ylim=(0, HEADROOM * highest), ylabel="goodput, Mb/s")
    axes[1][0].set_ylabel("Jain's index")
    alt = (
        f"Line charts in two rows, {title}: goodput of two flows over time, and Jain's fairness "
        f"index below. {'; '.join(words)}."
    )
    return Gallery.of(describe(fig, alt, FLOWS + star(runs)))
