"""Forest plots: a row a case, a mark with its interval a series; all comparisons are drawn so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis.compare import NO_INTERVAL
from netlab.charts import axis_bounds, drawn_numbers, line_labels, looks
from netlab.charts.chart import describe

WIDTH_IN, FRAME_IN, ROW_IN, MARK_IN = 6.6, 1.5, 0.1, 0.15
CLIP_BEYOND = 2.5
"""Largest stretch of the axis by an interval, as a factor of the farthest mark."""
HEADROOM = 1.08

Styles = Mapping[str, Mapping[str, Any]]
Reach = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """An axis of differences from 0, or, if they are ratios, a logarithmic one around 1."""

    number: str = "+.1f"
    unit: str = " %"
    ratio: bool = False
    whole: float = 10.0
    """Intervals up to here are drawn whole; of a ratio, up to its logarithm."""

    def flat(self, values: Any) -> np.ndarray:
        """Values on an axis on which no difference is 0."""
        values = np.asarray(values, dtype=float)
        return np.log(values) if self.ratio else values

    def sharp(self, value: float) -> float:
        """The inverse of :meth:`flat`."""
        return math.exp(value) if self.ratio else value

    def text(self, value: float, low: float, high: float) -> str:
        """``+1.2 % (+0.9 to +1.5)``, ``×1.20 (no interval)``; empty without a value."""
        if math.isnan(value):
            return ""
        bounded = not (math.isnan(low) or math.isnan(high))
        span = f"{low:{self.number}} to {high:{self.number}}" if bounded else "no interval"
        return f"{'×' if self.ratio else ''}{value:{self.number}}{self.unit} ({span})"


PERCENT, RATIO = Scale(), Scale(".2f", "", ratio=True, whole=0.1)


def in_percent(ratios: pd.DataFrame) -> pd.DataFrame:
    """Ratios with their intervals as marks: differences in per cent."""
    percent = 100 * (ratios[["ratio", "low", "high"]].astype(float) - 1)
    return ratios.assign(centre=percent["ratio"], low=percent["low"], high=percent["high"])


@looks.theme()
def forest(
    marks: pd.DataFrame,
    styles: Styles,
    about: str,
    *,
    title: str,
    quantity: str,
    scale: Scale = PERCENT,
    reach: Reach | None = None,
    beside: Sequence[str] = (),
    caption: str = "",
    width_in: float = WIDTH_IN,
    ax: Axes | None = None,
) -> Axes:
    """Draw marks by :func:`draw`; a legend names the series, the alt text has every mark."""
    ax = ax or looks.new_axes((width_in, height_in(marks, styles) + 0.17 * title.count("\n")))
    draw(ax, marks, styles, scale=scale, reach=reach, beside=beside)
    ax.set(title=title, xlabel=quantity)
    if len(styles) > 1:
        line_labels.legend_below(ax, ncols=len(styles))
    heading = ", ".join(["Forest plot", *title.split("\n")])
    return describe(ax, f"{heading}: {about}. {in_words(marks, scale)}.", caption)


def height_in(marks: pd.DataFrame, styles: Styles) -> float:
    return FRAME_IN + _step_in(marks, styles) * marks["row"].nunique()


def _step_in(marks: pd.DataFrame, styles: Styles) -> float:
    """From row to row: the marks of one row stand below each other."""
    return ROW_IN + MARK_IN * (len(styles) if marks["row"].duplicated().any() else 1)


def draw(
    ax: Axes,
    marks: pd.DataFrame,
    styles: Styles,
    *,
    scale: Scale = PERCENT,
    reach: Reach | None = None,
    rows: Sequence[str] = (),
    beside: Sequence[str] = (),
) -> None:
    """Draw the ``centre``, ``low`` and ``high`` of each mark in its ``row`` and ``series``.

    The column ``bound`` is the range of its row that counts as no difference. A mark that is
    ``hollow`` has no result. `rows` are the rows of panels that share their axis.
    """
    names, step = list(rows) or marks["row"].unique().tolist(), _step_in(marks, styles)
    left, right = reach or reach_of(marks, scale)
    name_rows(ax, names)
    _bands(ax, marks, names, scale)
    ax.axvline(scale.sharp(0), color=looks.CEILING_COLOUR, linewidth=1, zorder=1)
    for place, (series, style) in enumerate(styles.items()):
        part = marks[(marks["series"] == series) & marks["centre"].notna()]
        y = part["row"].map(names.index).to_numpy(dtype=float)
        if marks["row"].duplicated().any():
            y += (place - (len(styles) - 1) / 2) * MARK_IN / step
        centre, low, high = part[["centre", "low", "high"]].to_numpy(dtype=float).T
        sides = [centre - np.maximum(low, left), np.minimum(high, right) - centre]
        drawn_as = {**style, "linestyle": "none", "markersize": 6.5, "label": series, "zorder": 3}
        bars = {"xerr": np.nan_to_num(sides).clip(0), "elinewidth": 1.5, "capsize": 2.5}
        drawn_numbers.keep_interval(ax.errorbar(centre, y, **bars, **drawn_as), low, high)
        for mark, at, cut in (("<", left, low < left), (">", right, high > right)):
            if cut.any():  # an empty line that is not clipped misleads the layout
                arrow = {"marker": mark, "color": style["color"], "clip_on": False, "label": "_cut"}
                ax.plot(np.full(cut.sum(), at), y[cut], linestyle="none", markersize=5, **arrow)
        if "hollow" in part and (off := part["hollow"].to_numpy(dtype=bool)).any():
            white = {"markerfacecolor": "white", "markeredgecolor": style["color"]}
            ax.plot(centre[off], y[off], **{**drawn_as, **white, "label": "_off", "zorder": 4})
    if scale.ratio:
        axis_bounds.ratio_axis(ax, (left, right))
    ax.set_xlim(left, right)
    if len(beside):
        right_axis = ax.secondary_yaxis("right")
        right_axis.set_yticks(range(len(names)), beside)
        right_axis.tick_params(axis="y", length=0)
        right_axis.spines["right"].set_visible(False)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Name the rows of a chart, from 0 at its top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")


def _bands(ax: Axes, marks: pd.DataFrame, names: list[str], scale: Scale) -> None:
    if "bound" not in marks:
        return
    bounds = marks.groupby("row")["bound"].max()[names].to_numpy(dtype=float)
    if scale.ratio or len(set(bounds)) == 1:
        low = scale.sharp(-float(scale.flat(bounds[0])))
        ax.axvspan(low, bounds[0], color=looks.BAND_COLOUR, zorder=0)
        return
    for row, bound in enumerate(bounds):
        ax.barh(row, 2 * bound, left=-bound, height=0.94, color=looks.BAND_COLOUR, zorder=0)


def reach_of(marks: pd.DataFrame, scale: Scale = PERCENT) -> Reach:
    """Ends of the axis: all marks and bands, and of intervals what is not far beyond them."""
    centre, low, high = (scale.flat(marks[name]) for name in ("centre", "low", "high"))
    bound = 1.2 * np.nanmax(scale.flat(marks["bound"])) if "bound" in marks else 0.0
    farthest = max(float(np.nanmax(np.abs(centre), initial=0.0)), bound)
    least = max(bound, 0.1 * farthest, 0.1 * scale.whole)
    most = max(CLIP_BEYOND * farthest, scale.whole)
    ends = []
    for sign, end in ((-1, low), (1, high)):
        near = float(np.nanmax(sign * centre, initial=least))
        widest = float(np.nanmax(sign * end, initial=near))
        ends.append(scale.sharp(sign * HEADROOM * max(near, min(widest, most))))
    return ends[0], ends[1]


def in_words(marks: pd.DataFrame, scale: Scale = PERCENT) -> str:
    """Every mark for an alternative text; several of a row with their series."""
    several, words = marks["row"].duplicated().any(), []
    for mark in marks.to_dict("records"):
        name = f"{mark['row']}, {mark['series']}" if several else mark["row"]
        value = scale.text(mark["centre"], mark["low"], mark["high"])
        verdict = mark.get("verdict")  # where there is no interval, the value says so
        parts = (value, verdict if verdict != NO_INTERVAL else "")
        words.append(f"{name}: {', '.join(filter(None, parts))}")
    return "; ".join(words)
