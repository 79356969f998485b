"""Charts of runs over a long path: goodput of stacks over time, and by run."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis.longpath_study import LongPath, seconds_mean
from netlab.charts.bounds import within
from netlab.charts.chart import Gallery, describe
from netlab.charts.labels import label_lines
from netlab.charts.palette import CEILING_COLOUR, MARKERS, other_style
from netlab.charts.theme import new_axes, theme

SUMMARY_SIZE_IN = (7.0, 3.8)
FLAGGED = " * Flagged run."
BLOW_UP_FROM = 0.9
"""Least share of the best mean for a stack to appear in the blow-up."""
STYLE_OF_STACK = {"Reno": 0, "HighSpeed": 1, "Scalable": 2, "FAST": 3, "CUBIC": 4, "AIMD": 5}


def stack_style(stack: str, position: int = 0) -> dict:
    """Colour and dash of a stack, the same in all charts; lines of samples have no markers."""
    style = other_style(STYLE_OF_STACK.get(stack, position))
    return {"color": style["color"], "linestyle": style["linestyle"]}


def star(runs: pd.DataFrame) -> str:
    """Note of a caption if any run is flagged."""
    return FLAGGED if (runs["flags"] != "").any() else ""


def summary(lp: LongPath, runs: pd.DataFrame, title: str) -> Gallery:
    """Draw goodput of several stacks in one chart, and its blow-up: means over a second."""
    if runs.empty:
        return Gallery()
    whole = goodput_over_time(lp, runs, title)
    if math.isnan(runs["since_s"].max()):
        return Gallery.of(whole)
    return Gallery.of(whole, goodput_over_time(lp, runs, f"{title}: blow-up", blown_up=True))


def opening(lp: LongPath) -> Gallery:
    """Draw the summary of the compared stacks, or of all runs if the study has no such part."""
    runs = lp.part("comparison") if lp.has("comparison") else lp.table
    runs = runs[runs["streams"] == 1]
    charts = []
    for mtu_B in sorted(runs["mtu_B"].unique(), reverse=True):
        of_mtu = runs[runs["mtu_B"] == mtu_B]
        charts.append(goodput_over_time(lp, of_mtu, f"Frames of {mtu_B} B"))
    return Gallery.of(*charts)


@theme()
def goodput_over_time(
    lp: LongPath,
    runs: pd.DataFrame,
    title: str,
    *,
    blown_up: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw means of goodput over one second, a line a run."""
    ax = ax or new_axes(SUMMARY_SIZE_IN)
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
        ax.plot(rate["t_s"], rate["value"], label=stack + ("*" if run["flags"] else ""),
                markevery=max(1, len(rate) // 12),
                **other_style(STYLE_OF_STACK.get(stack, position)))  # fmt: skip
        known = "no mean" if math.isnan(mean) else f"{mean:.0f} Mb/s after slow start"
        words.append(f"{stack}: {known}, last second {rate['value'].iloc[-1]:.0f}")
    ax.axhline(limit, color=CEILING_COLOUR, linewidth=1.1, linestyle=(0, (1, 1)), label="_limit")
    if blown_up and span:
        low, high = min(span), max(*span, limit)
        ax.set_ylim(low - 0.1 * (high - low) - 1, high + 0.1 * (high - low) + 1)
    else:
        ax.set_ylim(0, 1.06 * max([limit, *span]))
        ax.set_xlim(left=0)
    ax.set(xlabel="s", ylabel="goodput, Mb/s, means of 1 s", title=title)
    if span:
        label_lines(ax)
    alt = (
        f"Line chart, {title}: goodput over time of each stack. {'; '.join(words)}. The path "
        f"carries {limit:.0f} Mb/s of payload."
    )
    caption = f"Dotted: payload rate of the path, {limit:.0f} Mb/s." + star(runs)
    if blown_up:
        caption += f" Stacks with at least {100 * BLOW_UP_FROM:.0f} % of the best one's mean."
    return describe(ax, alt, caption)


def configurations(lp: LongPath, runs: pd.DataFrame, title: str) -> Gallery:
    """Draw goodput after slow start of each configuration; empty without runs."""
    return Gallery.of(goodput_by_run(lp, runs, title)) if len(runs) else Gallery()


@theme()
def goodput_by_run(lp: LongPath, runs: pd.DataFrame, title: str, *, ax: Axes | None = None) -> Axes:
    """Draw goodput after slow start with its interval, a row a run, a marker an MTU."""
    shown = runs.to_dict("records")
    ax = ax or new_axes((6.4, 0.34 * len(shown) + 1.2))
    limits = {run["mtu_B"]: lp.payload_limit_Mbps(run) for run in shown}
    words = []
    for position, run in enumerate(shown):
        mean, half = run["mean_Mbps"], run["half_width_Mbps"]
        low, high = within([mean], [mean - half], [mean + half], limits[run["mtu_B"]])
        ax.errorbar(mean, position, xerr=np.nan_to_num([mean - low, high - mean]), capsize=3,
                    elinewidth=1.2,
                    fmt=MARKERS[sorted(limits).index(run["mtu_B"])],
                    color=stack_style(lp.stack(run))["color"])  # fmt: skip
        words.append(f"{run['label']} ({run['mtu_B']} B): {mean:.0f}")
    names = [run["label"] + ("*" if run["flags"] else "") for run in shown]
    ax.set_yticks(range(len(shown)), names)
    ax.invert_yaxis()
    limit = max(limits.values())
    ax.axvline(limit, color=CEILING_COLOUR, linewidth=1.1, linestyle=(0, (1, 1)))
    ax.set(xlim=(0, 1.06 * limit), xlabel="goodput after slow start, Mb/s", title=title)
    ax.grid(axis="x", visible=True)
    marks = ", ".join(
        f"{name} {mtu_B} B"
        for name, mtu_B in zip(("circles", "squares"), sorted(limits), strict=False)
    )
    alt = f"Points with intervals, {title}: goodput after slow start in Mb/s. {'; '.join(words)}."
    caption = f"Frames: {marks}. Dotted: payload rate of the path." + star(runs)
    return describe(ax, alt, caption)
