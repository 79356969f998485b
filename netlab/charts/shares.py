"""Charts of shares: of each stack by cell, Jain's index by cell, and streams over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from netlab.analysis import cell_texts, printed
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.later_flows import shares_over_time
from netlab.analysis.share_over_time import OverTime
from netlab.analysis.shares import stack_names
from netlab.charts import line_labels, looks
from netlab.charts.cell_rows import ROW_IN
from netlab.charts.chart import Panels, describe
from netlab.charts.forest import name_rows
from netlab.units import arrows

SHARE_CAPTION = (
    "Mean over the rounds; bars: its interval, from three rounds on. Grey strokes: equal shares of "
    "all flows. Hollow: median of flagged runs, not a result."
)
JAIN_CAPTION = (
    "1: equal shares; 1/n, the grey stroke: one of n flows has everything. Mean over the rounds; "
    "bars: its interval. Hollow: median of flagged runs, not a result."
)
OVER_TIME_CAPTION = (
    "The run of each cell whose index is nearest to the cell's. Running means of five round trips, "
    "at least 1 s."
)
NEWCOMERS_CAPTION = (
    "The same runs; a line for each part of the flows. Grey: an equal share of the flows that are "
    "on. Running means of five round trips, at least 1 s."
)
COLUMNS = 3

LEGEND_CHARACTERS = 60
"""Names of a legend in one line, together."""


def _legend_columns(names: Sequence[str]) -> int:
    """As many names as fit beside each other."""
    longest = max([1, *map(len, names)])  # a record may name no congestion control
    return max(1, min(len(names), LEGEND_CHARACTERS // longest))


def stack_styles(controls: Sequence[str]) -> dict[str, dict]:
    """Style of each congestion control of a study, in their order."""
    return {name: looks.other_style(at) for at, name in enumerate(dict.fromkeys(controls))}


def _rows(frame: pd.DataFrame, labels: Mapping[tuple, str], ax: Axes | None) -> tuple[Axes, list]:
    """Axes with a row a cell and direction, and the name and part of each."""
    both = frame["way"].nunique() > 1
    rows = [
        (labels[key[:-1]] + (f", {key[-1]}" if both else ""), part)
        for key, part in frame.groupby([*CELL_KEYS, "way"], sort=False)
    ]
    ax = ax or looks.new_axes((6.4, 1.4 + ROW_IN * len(rows)))
    name_rows(ax, [name for name, _ in rows])
    ax.set_title(arrows(str(frame["group"].iloc[0])))
    return ax, rows


def _dot(ax: Axes, at: float, row: Mapping, names: tuple[str, str, str], style: dict, label: str):
    """Draw a value with its interval; hollow and without one if it is disturbed."""
    value, low, high = (float(row[name]) for name in names)
    style = style | {"linestyle": "none"}
    if row["disturbed"]:
        style |= {"color": looks.HOLLOW_COLOUR, "markerfacecolor": "none"}
        style |= {"markeredgecolor": looks.HOLLOW_COLOUR}
    known = not math.isnan(low)
    ends = ([value - low], [high - value]) if known else ([0.0], [0.0])
    ax.errorbar([value], [at], xerr=ends, label=label, capsize=3 if known else 0, **style)


@looks.theme()
def stacks(frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw the share of each stack in the cells of a group: a row a cell, a mark a stack."""
    ax, rows = _rows(frame, labels, ax)
    styles, words = stack_styles(frame["control"].tolist()), []
    names = stack_names(styles)
    named: set[str] = set()
    for at, (label, part) in enumerate(rows):
        for row in part.to_dict("records"):
            name = names[row["control"]]
            fair = 100 * row["flows"] / row["of_flows"]
            ax.vlines(fair, at - 0.3, at + 0.3, colors=looks.CEILING_COLOUR, linewidth=1)
            shown = "_" + name if name in named else name
            named.add(name)
            ends = ("share_percent", "share_low_percent", "share_high_percent")
            _dot(ax, at, row, ends, styles[row["control"]], shown)
        words.append(f"{label}: {in_words(part, names)}")
    ax.set(xlabel="share of the bytes in the window, %", xlim=(-2, 102))
    line_labels.legend_below(ax, ncols=_legend_columns([*names.values()]))
    alt = f"Dots of the share of each stack, a row a cell. {'; '.join(words)}."
    return describe(ax, alt, SHARE_CAPTION)


def in_words(part: pd.DataFrame, names: Mapping[str, str]) -> str:
    """``BBR 61.2 % of 4 flows, CUBIC 38.8 % of 4``."""
    return ", ".join(
        f"{names[row['control']]} {cell_texts.number(row['share_percent'])} % "
        f"with {row['flows']} of {row['of_flows']} flows"
        for row in part.to_dict("records")
    )


@looks.theme()
def jain(frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw Jain's index of the cells of a group, a row a cell."""
    ax, rows = _rows(frame, labels, ax)
    words = []
    for at, (label, part) in enumerate(rows):
        (row,) = part.to_dict("records")
        least = 1 / row["of_flows"]
        ax.vlines(least, at - 0.3, at + 0.3, colors=looks.CEILING_COLOUR, linewidth=1)
        ends = ("jain_index", "jain_low", "jain_high")
        _dot(ax, at, row, ends, looks.other_style(0), "_index" if at else "index")
        words.append(f"{label}: {row['jain_index']:.3f} of {row['of_flows']} flows")
    ax.set(xlabel="Jain's index", xlim=(0, 1.03))
    alt = f"Dots of Jain's index, a row a cell. {'; '.join(words)}."
    return describe(ax, alt, JAIN_CAPTION)


def _multiples(count: int, group: str) -> tuple[Figure, np.ndarray]:
    """Small multiples of one scale; those beyond the count are hidden."""
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    size_in = (max(4.2, 2.5 * columns + 0.6), 2.1 * rows + 0.9)
    fig, axes = plt.subplots(rows, columns, sharey=True, squeeze=False, figsize=size_in)
    fig.suptitle(arrows(group), x=0.02, ha="left", fontweight="bold", fontsize=10.5)
    for ax in list(axes.flat)[count:]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("s")
    return fig, axes


@looks.theme()
def newcomer_panels(found: Sequence[OverTime], labels: Mapping[tuple, str], group: str) -> Panels:
    """Draw the share of each part of the flows over time, beside an equal share."""
    fig, axes = _multiples(len(found), group)
    words: list[str] = []
    styles = stack_styles([name for one in found for name in one.controls])
    names = stack_names(styles)
    for ax, one in zip(axes.flat, found, strict=False):
        starts, first = [], 0
        for at, flow in enumerate(one.flows):
            control = one.controls[first]
            first += flow.count
            share, equal = shares_over_time(one.rates, one.flows, at)
            on = equal > 0
            style = {"color": styles[control]["color"], "linestyle": styles[control]["linestyle"]}
            ax.plot(share.index[on], share[on], linewidth=1.3, **style)
            equal_style = {"color": looks.CEILING_COLOUR, "linewidth": 1, "zorder": 1}
            ax.plot(equal.index[on], equal[on], drawstyle="steps-pre", **equal_style)
            if flow.start_s:
                who = f"{flow.count} {names[control]}"
                starts.append(
                    f"{who} from {flow.start_s:g} s has {share.iloc[-1]:.0f} % at the end"
                )
        ax.set_title(labels[one.key], fontsize=8)
        words.append(f"{labels[one.key]}: {', '.join(starts)}")
    axes[0][0].set_ylim(-2, 102)
    for ax in axes[:, 0]:
        ax.set_ylabel("share, %")
    lines = [
        Line2D([], [], color=style["color"], linestyle=style["linestyle"])
        for style in styles.values()
    ]
    equal_line = Line2D([], [], color=looks.CEILING_COLOUR, linewidth=1)
    shown = [*names.values(), "equal share"]
    columns = _legend_columns(shown)
    fig.legend([*lines, equal_line], shown, ncols=columns, loc="outside lower center")
    alt = f"Line charts of the shares of flows that start at several times. {'; '.join(words)}."
    return Panels(describe(fig, alt, NEWCOMERS_CAPTION), axes)


@looks.theme()
def over_time_panels(found: Sequence[OverTime], labels: Mapping[tuple, str], group: str) -> Panels:
    """Draw the streams of one run of each cell over time, as small multiples of one scale."""
    fig, axes = _multiples(len(found), group)
    styles = stack_styles([name for one in found for name in one.controls])
    words = []
    for ax, one in zip(axes.flat, found, strict=False):
        for stream, control in enumerate(one.controls):
            style = {"color": styles[control]["color"], "linestyle": styles[control]["linestyle"]}
            line = one.rates[stream]
            ax.plot(line.index, line, linewidth=1.1, alpha=0.85, **style)
        ax.set_title(f"{labels[one.key]}\n{one.index_text()}", fontsize=8)
        ends = one.rates.drop(columns="jain").iloc[-1]
        words.append(
            f"{labels[one.key]}: {one.index_text()}, at the end {printed.reach(ends)} Mb/s a stream"
        )
    top = max(float(np.nanmax(one.rates.drop(columns="jain").to_numpy())) for one in found)
    axes[0][0].set_ylim(0, 1.06 * top or 1.0)
    for ax in axes[:, 0]:
        ax.set_ylabel("Mb/s")
    lines = [
        Line2D([], [], color=style["color"], linestyle=style["linestyle"])
        for style in styles.values()
    ]
    names = [*stack_names(styles).values()]
    fig.legend(lines, names, ncols=_legend_columns(names), loc="outside lower center")
    alt = f"Line charts of the goodput of every stream over time. {'; '.join(words)}."
    return Panels(describe(fig, alt, OVER_TIME_CAPTION), axes)
