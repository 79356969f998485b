"""Charts of runs over a long path: goodput of stacks over time, and by run."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes

from netlab.charts import axis_bounds, line_labels, looks
from netlab.charts.chart import Gallery, describe
from netlab.longpath.analysis import LongPath
from netlab.longpath.series import seconds_mean

SUMMARY_SIZE_IN = (7.0, 3.8)
DOTS, DASHES = (0, (1, 1)), (0, (4, 2))
BLOW_UP_FROM = 0.9
"""Least share of the best mean for a stack to appear in the blow-up."""
STYLE_OF_STACK = {"Reno": 0, "HighSpeed": 1, "Scalable": 2, "FAST": 3, "CUBIC": 4, "AIMD": 5}


def stack_style(stack: str, position: int = 0) -> dict:
    """Colour and dash of a stack, the same in all charts; lines of samples have no markers."""
    style = looks.other_style(STYLE_OF_STACK.get(stack, position))
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


@looks.theme()
def goodput_over_time(
    lp: LongPath, runs: pd.DataFrame, title: str, *, blown_up: bool = False, ax: Axes | None = None
) -> Axes:
    """Draw means of goodput over one second, a line a run."""
    ax = ax or looks.new_axes(SUMMARY_SIZE_IN)
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
        style = looks.other_style(STYLE_OF_STACK.get(stack, position))
        style |= {"label": stack + "*" * bool(run["flags"]), "markevery": max(1, len(rate) // 12)}
        ax.plot(rate["t_s"], rate["value"], **style)
        mean_text = "no mean" if math.isnan(mean) else f"{mean:.0f} Mb/s after slow start"
        words.append(f"{stack}: {mean_text}, last second {rate['value'].iloc[-1]:.0f}")
    ax.axhline(limit, color=looks.CEILING_COLOUR, linewidth=1.1, linestyle=DOTS, label="_limit")
    if blown_up and span:
        low, high = min(span), max(*span, limit)
        ax.set_ylim(low - 0.1 * (high - low) - 1, high + 0.1 * (high - low) + 1)
    else:
        ax.set_ylim(0, 1.06 * max([limit, *span]))
        ax.set_xlim(left=0)
    ax.set(xlabel="s", ylabel="goodput, Mb/s, means of 1 s", title=title)
    if span:
        line_labels.label_lines(ax)
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


@looks.theme()
def goodput_by_run(lp: LongPath, runs: pd.DataFrame, title: str, *, ax: Axes | None = None) -> Axes:
    """Draw goodput after slow start and its interval within the run; a row a run."""
    shown = runs.to_dict("records")
    ax = ax or looks.new_axes((6.4, 0.34 * len(shown) + 1.2))
    limits = {run["mtu_B"]: lp.payload_limit_Mbps(run) for run in shown}
    sizes, words = sorted(limits), []
    for position, run in enumerate(shown):
        mean, half = run["mean_Mbps"], run["half_width_Mbps"]
        low, high = axis_bounds.within([mean], [mean - half], [mean + half], limits[run["mtu_B"]])
        colour = stack_style(lp.stack(run))["color"]
        axis_bounds.strokes_within_runs(ax, [position], (low, high), colour, upright=False)
        ax.errorbar(mean, position, fmt=looks.MARKERS[sizes.index(run["mtu_B"])], color=colour)
        words.append(f"{run['label']} ({run['mtu_B']} B): {mean:.0f}")
    ax.set_yticks(range(len(shown)), [run["label"] + "*" * bool(run["flags"]) for run in shown])
    ax.invert_yaxis()
    limit = max(limits.values())
    ax.axvline(limit, color=looks.CEILING_COLOUR, linewidth=1.1, linestyle=DOTS)
    ax.set(xlim=(0, 1.06 * limit), xlabel="goodput after slow start, Mb/s", title=title)
    ax.grid(axis="x", visible=True)
    marks = zip(("circles", "squares"), sizes, strict=False)
    marked = ", ".join(f"{name} {mtu_B} B" for name, mtu_B in marks)
    alt = f"Points, {title}: goodput after slow start in Mb/s. {'; '.join(words)}."
    caption = f"Frames: {marked}. Broad strokes: within the run, not over rounds. "
    return describe(ax, alt, caption + "Dotted: payload rate of the path." + star(runs))
