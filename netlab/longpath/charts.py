"""Charts of runs over a long path: goodput of stacks over time, and by run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netlab.charts import drawing
from netlab.charts.chart import Gallery, describe
from netlab.longpath.analysis import LAW_OF_STACK, QUANTITIES, LongPath, seconds_mean

SUMMARY_SIZE_IN = (7.0, 3.8)
DOTS, DASHES = (0, (1, 1)), (0, (4, 2))
BLOW_UP_FROM = 0.9
"""Least share of the best mean for a stack to appear in the blow-up."""
STYLE_OF_STACK = {"Reno": 0, "HighSpeed": 1, "Scalable": 2, "FAST": 3, "CUBIC": 4, "AIMD": 5}


def stack_style(stack: str, position: int = 0) -> dict:
    """Colour and dash of a stack, the same in all charts; lines of samples have no markers."""
    style = drawing.other_style(STYLE_OF_STACK.get(stack, position))
    return {"color": style["color"], "linestyle": style["linestyle"]}


def star(runs: pd.DataFrame) -> str:
    """Note of a caption if any run is flagged."""
    return " * Flagged run." if (runs["flags"] != "").any() else ""


def summary(lp: LongPath, runs: pd.DataFrame, title: str) -> Gallery:
    """Draw goodput of several stacks in one chart, and its blow-up: means over a second."""
    if runs.empty:
        return Gallery()
    gallery = Gallery.of(goodput_over_time(lp, runs, title))
    if math.isnan(runs["since_s"].max()):
        return gallery
    return gallery + Gallery.of(goodput_over_time(lp, runs, f"{title}: blow-up", blown_up=True))


def opening(lp: LongPath) -> Gallery:
    """Draw the summary of the compared stacks, or of all runs if the study has no such part."""
    runs = lp.compared[lp.compared["streams"] == 1]
    by_mtu = sorted(runs.groupby("mtu_B", sort=False), key=lambda part: -part[0])
    frames = (goodput_over_time(lp, part, f"Frames of {mtu_B} B") for mtu_B, part in by_mtu)
    return Gallery.of(*frames)


@drawing.theme()
def goodput_over_time(
    lp: LongPath, runs: pd.DataFrame, title: str, *, blown_up: bool = False, ax: Axes | None = None
) -> Axes:
    """Draw means of goodput over one second, a line a run."""
    ax = ax or drawing.new_axes(SUMMARY_SIZE_IN)
    begin_s = math.ceil(float(runs["since_s"].max()) + 1) if blown_up else 0.0
    best = runs["mean_Mbps"].max()
    limit, span, words = lp.payload_limit_Mbps(runs.iloc[0]), [], []
    for position, run in enumerate(runs.to_dict("records")):
        stack, mean = lp.stack(run), run["mean_Mbps"]
        rate = seconds_mean(lp.series(run)["goodput"])
        rate = rate[rate["t_s"] >= begin_s]
        high = mean >= BLOW_UP_FROM * best
        if rate.empty or (blown_up and not high):
            words.append(f"{stack}: below the chart" if blown_up else f"{stack}: nothing")
            continue
        span += rate["value"].tolist()
        style = drawing.other_style(STYLE_OF_STACK.get(stack, position))
        style |= {"label": stack + "*" * bool(run["flags"]), "markevery": max(1, len(rate) // 12)}
        ax.plot(rate["t_s"], rate["value"], **style)
        mean_text = "no mean" if math.isnan(mean) else f"{mean:.0f} Mb/s after slow start"
        words.append(f"{stack}: {mean_text}, last second {rate['value'].iloc[-1]:.0f}")
    ax.axhline(limit, color=drawing.CEILING_COLOUR, linewidth=1.1, linestyle=DOTS, label="_limit")
    if blown_up and span:
        low, high = min(span), max(*span, limit)
        ax.set_ylim(low - 0.1 * (high - low) - 1, high + 0.1 * (high - low) + 1)
    else:
        ax.set_ylim(0, 1.06 * max([limit, *span]))
        ax.set_xlim(left=0)
    ax.set(xlabel="s", ylabel="goodput, Mb/s, means of 1 s", title=title)
    if span:
        drawing.label_lines(ax)
    alt = (
        f"Line chart, {title}: goodput over time of each stack. {'; '.join(words)}. The path "
        f"carries {limit:.0f} Mb/s of payload."
    )
    caption = f"Dotted: payload rate of the path, {limit:.0f} Mb/s." + star(runs)
    if blown_up:
        caption += f" Stacks with at least {100 * BLOW_UP_FROM:.0f} % of the best one's mean."
    return describe(ax, alt, caption)


def configurations(lp: LongPath, runs: pd.DataFrame, title: str) -> Gallery:
    return Gallery.of(goodput_by_run(lp, runs, title)) if len(runs) else Gallery()


@drawing.theme()
def goodput_by_run(lp: LongPath, runs: pd.DataFrame, title: str, *, ax: Axes | None = None) -> Axes:
    """Draw goodput after slow start and its interval within the run; a row a run."""
    shown = runs.to_dict("records")
    ax = ax or drawing.new_axes((6.4, 0.34 * len(shown) + 1.2))
    limits = {run["mtu_B"]: lp.payload_limit_Mbps(run) for run in shown}
    sizes, words = sorted(limits), []
    for position, run in enumerate(shown):
        mean, half = run["mean_Mbps"], run["half_width_Mbps"]
        low, high = drawing.within([mean], [mean - half], [mean + half], limits[run["mtu_B"]])
        colour = stack_style(lp.stack(run))["color"]
        drawing.strokes_within_runs(ax, [position], (low, high), colour, upright=False)
        ax.errorbar(mean, position, fmt=drawing.MARKERS[sizes.index(run["mtu_B"])], color=colour)
        words.append(f"{run['label']} ({run['mtu_B']} B): {mean:.0f}")
    ax.set_yticks(range(len(shown)), [run["label"] + "*" * bool(run["flags"]) for run in shown])
    ax.invert_yaxis()
    limit = max(limits.values())
    ax.axvline(limit, color=drawing.CEILING_COLOUR, linewidth=1.1, linestyle=DOTS)
    ax.set(xlim=(0, 1.06 * limit), xlabel="goodput after slow start, Mb/s", title=title)
    ax.grid(axis="x", visible=True)
    marks = zip(("circles", "squares"), sizes, strict=False)
    marked = ", ".join(f"{name} {mtu_B} B" for name, mtu_B in marks)
    alt = f"Points, {title}: goodput after slow start in Mb/s. {'; '.join(words)}."
    caption = f"Frames: {marked}. Broad strokes: within the run, not over rounds. "
    return describe(ax, alt, caption + "Dotted: payload rate of the path." + star(runs))


# Charts of single runs over a long path: quantities over time, recovery, flows; their grids.

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


@drawing.theme()
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
            ax.axvline(float(at_s), color=drawing.CEILING_COLOUR, linewidth=0.9, linestyle=dash)


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


@drawing.theme()
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
    ax.axvline(0, color=drawing.CEILING_COLOUR, linewidth=0.9, linestyle=DASHES)
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
        *zip(*line, strict=True), color=drawing.CEILING_COLOUR, linewidth=2.4, alpha=0.55, zorder=1
    )


@drawing.theme()
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
        bottom.plot(over.index, over["jain"], color=drawing.CEILING_COLOUR, linewidth=1.4)
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
