"""Forest plots: a row a case, a mark with its interval a series; all comparisons are drawn so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import any_factors
from netlab.analysis.compare import CANNOT_TELL, FASTER, NO_INTERVAL, SAME, SLOWER, Compared
from netlab.charts import drawing
from netlab.charts.chart import Gallery, describe
from netlab.units import arrows

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


@drawing.theme()
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
    ax = ax or drawing.new_axes((width_in, height_in(marks, styles) + 0.17 * title.count("\n")))
    draw(ax, marks, styles, scale=scale, reach=reach, beside=beside)
    ax.set(title=title, xlabel=quantity)
    if len(styles) > 1:
        drawing.legend_below(ax, ncols=len(styles))
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
    ax.axvline(scale.sharp(0), color=drawing.CEILING_COLOUR, linewidth=1, zorder=1)
    for place, (series, style) in enumerate(styles.items()):
        part = marks[(marks["series"] == series) & marks["centre"].notna()]
        y = part["row"].map(names.index).to_numpy(dtype=float)
        if marks["row"].duplicated().any():
            y += (place - (len(styles) - 1) / 2) * MARK_IN / step
        centre, low, high = part[["centre", "low", "high"]].to_numpy(dtype=float).T
        sides = [centre - np.maximum(low, left), np.minimum(high, right) - centre]
        drawn_as = {**style, "linestyle": "none", "markersize": 6.5, "label": series, "zorder": 3}
        bars = {"xerr": np.nan_to_num(sides).clip(0), "elinewidth": 1.5, "capsize": 2.5}
        drawing.keep_interval(ax.errorbar(centre, y, **bars, **drawn_as), low, high)
        for mark, at, cut in (("<", left, low < left), (">", right, high > right)):
            if cut.any():  # an empty line that is not clipped misleads the layout
                arrow = {"marker": mark, "color": style["color"], "clip_on": False, "label": "_cut"}
                ax.plot(np.full(cut.sum(), at), y[cut], linestyle="none", markersize=5, **arrow)
        if "hollow" in part and (off := part["hollow"].to_numpy(dtype=bool)).any():
            white = {"markerfacecolor": "white", "markeredgecolor": style["color"]}
            ax.plot(centre[off], y[off], **{**drawn_as, **white, "label": "_off", "zorder": 4})
    if scale.ratio:
        drawing.ratio_axis(ax, (left, right))
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
        ax.axvspan(low, bounds[0], color=drawing.BAND_COLOUR, zorder=0)
        return
    for row, bound in enumerate(bounds):
        ax.barh(row, 2 * bound, left=-bound, height=0.94, color=drawing.BAND_COLOUR, zorder=0)


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


# Comparisons: two sides, generators beside a reference, knobs of a screen, steps of a factor.

ROWS_OF_A_CHART = 40
"""More cells than this are drawn as one chart a group."""

STYLES: Styles = {
    SLOWER: {"color": drawing.OTHERS[1], "marker": "v"},
    FASTER: {"color": drawing.OTHERS[4], "marker": "^"},
    SAME: {"color": drawing.OTHERS[2], "marker": "o"},
    CANNOT_TELL: {"color": drawing.CEILING_COLOUR, "marker": "o", "markerfacecolor": "white"},
    NO_INTERVAL: {"color": drawing.CEILING_COLOUR, "marker": "x"},
}
"""Colour and marker of each verdict; a hollow dot for no verdict."""


def _by_verdict(
    rows: pd.DataFrame, names: Sequence[str], bound: float, about: str, **labels: Any
) -> Axes:
    """Draw ratios in per cent, a row each, in the colour of its verdict."""
    series = {
        word: f"{word} within {bound:g} %" if word == SAME else word
        for word in STYLES
        if (rows["verdict"] == word).any()
    }
    marks = in_percent(rows).assign(row=names, series=rows["verdict"].map(series), bound=bound)
    about += f" with its simultaneous interval; a grey band marks {bound:g} % either way"
    return forest(marks, {series[word]: STYLES[word] for word in series}, about, **labels)


def cell_forest(
    compared: Compared,
    *,
    cells: pd.DataFrame | None = None,
    title: str = "B against A",
    ax: Axes | None = None,
) -> Axes:
    """Draw the difference of every cell, a row each, by verdict and size of the effect."""
    rows = compared.frame if cells is None else cells
    about = "goodput of B against A in per cent, one row a cell"
    quantity = "Goodput of B against A, %"
    names, bound = _names(rows, compared.keys), compared.same_within_percent
    return _by_verdict(rows, names, bound, about, title=title, quantity=quantity, ax=ax)


def comparison_charts(compared: Compared) -> Gallery:
    """Forest plots of a comparison: one, or one a group if there are many cells."""
    rows = compared.frame
    if len(rows) <= ROWS_OF_A_CHART or "group" not in compared.keys:
        return Gallery.of(cell_forest(compared))
    parts = rows.groupby("group", sort=False)
    return Gallery.of(*(cell_forest(compared, cells=part, title=str(name)) for name, part in parts))


def family_forest(
    sides: Mapping[str, Compared],
    *,
    cells: pd.DataFrame | None = None,
    title: str = "Against A",
    ax: Axes | None = None,
) -> Axes:
    """Draw the difference of every cell from the reference, a row a cell, a colour a side."""
    rows, first = _family(sides) if cells is None else cells, next(iter(sides.values()))
    keys = list(dict.fromkeys(key for one in sides.values() for key in one.keys))
    names = _names(rows, keys)
    decided = rows["verdict"].isin((SLOWER, FASTER, SAME))
    marks = in_percent(rows).assign(
        row=names, series=rows["against"], hollow=~decided, bound=first.same_within_percent
    )
    about = "goodput against the reference in per cent, one row a cell, with its simultaneous "
    about += f"interval; a grey band marks {first.same_within_percent:g} % either way"
    styles = {name: drawing.other_style(place) for place, name in enumerate(sides)}
    caption = "Hollow: not decided. Bars: intervals that hold for all cells of all sides at once."
    quantity = "Goodput against A, %"
    return forest(marks, styles, about, title=title, quantity=quantity, caption=caption, ax=ax)


def _family(sides: Mapping[str, Compared]) -> pd.DataFrame:
    parts = (one.frame.assign(against=name) for name, one in sides.items())
    return pd.concat(parts, ignore_index=True)


def family_charts(sides: Mapping[str, Compared]) -> Gallery:
    """Forest plots of several comparisons: one, or one a group if there are many cells."""
    rows = _family(sides)
    if len(rows) <= ROWS_OF_A_CHART or "group" not in rows:
        return Gallery.of(family_forest(sides))
    parts = rows.groupby("group", sort=False)
    return Gallery.of(*(family_forest(sides, cells=part, title=str(name)) for name, part in parts))


def _names(rows: pd.DataFrame, candidates: Sequence[str]) -> list[str]:
    """Cells by the levels that tell them apart."""
    words = {"mtu_B": "{} B", "record_length_B": "records {} B"}
    keys: list[str] = []
    for key in candidates:  # not those that follow from the ones before, as path from group
        levels = rows[keys].drop_duplicates() if keys else rows.iloc[:1]
        if len(rows[[*keys, key]].drop_duplicates()) > len(levels):
            keys.append(key)

    def level(key: str, value: Any) -> str:
        if key == "streams":
            return f"{value} stream{'s' * (value != 1)}"
        if key == "factors":
            return any_factors.text_of(value)
        return words.get(key, "{}").format(value)

    keys = keys or list(candidates[:1])
    names = (", ".join(level(key, row[key]) for key in keys) for row in rows.to_dict("records"))
    return list(map(arrows, names))


GENERATOR_CELL = (
    *("mtu_B", "streams", "direction", "tuning", "factors"),
    *("congestion", "record_length_B", "buffer_B", "receive_buffer_B", "records"),
)
"""Levels that name a cell of a path."""


def differences(compared: pd.DataFrame, bound_percent: float) -> Gallery:
    """Draw the differences of generators from the reference, one chart a path."""
    names = compared["generator"].drop_duplicates().tolist()
    parts = compared.groupby("path", sort=False)
    return Gallery.of(*(generator_forest(part, names, bound_percent) for _, part in parts))


def generator_forest(
    part: pd.DataFrame, names: Sequence[str], bound_percent: float, *, ax: Axes | None = None
) -> Axes:
    """Draw the differences on one path, a row a cell, a dot with its interval a generator."""
    path, reference = part["path"].iloc[0], part["reference"].iloc[0]
    marks = in_percent(part).assign(
        row=_names(part, GENERATOR_CELL),
        series=part["generator"],
        bound=bound_percent,
        hollow=part["verdict"].isin((CANNOT_TELL, NO_INTERVAL)),
    )
    return forest(
        marks,
        {name: drawing.other_style(place) for place, name in enumerate(names)},
        f"difference of goodput from {reference} in per cent, one row a cell, one dot a "
        f"generator; a grey band marks {bound_percent:g} % either way",
        title=f"Path {path}",
        quantity=f"Goodput against {reference}, %",
        ax=ax,
    )


def knob_forest(effects: pd.DataFrame, bound: float, *, title: str, ax: Axes | None = None) -> Axes:
    """Draw the effect of every knob with its interval, largest first; pairs below."""
    sizes = effects.assign(pair=effects["with_knob"] != "", size=-effects["ratio"])
    rows = effects.loc[sizes.sort_values(["pair", "size"], kind="stable").index]
    names = (rows["knob"] + (" × " + rows["with_knob"]).where(rows["with_knob"] != "", "")).tolist()
    about = "effect of each knob on goodput in per cent"
    quantity = "Goodput with the knob against goodput without, %"
    return _by_verdict(rows, names, bound, about, title=title, quantity=quantity, ax=ax)


def step_forest(
    steps: pd.DataFrame, labels: dict[str, str], factors: dict[str, str], *, ax: Axes | None = None
) -> Axes:
    """Draw the ratio of goodput for each step of each factor, with its interval."""
    marks = steps.rename(columns={"ratio": "centre"}).assign(
        row=[
            f"{factors[step.factor]}: "
            + " to ".join(arrows(labels.get(one, one)) for one in (step.from_level, step.to_level))
            for step in steps.itertuples()
        ],
        series=steps["factor"].map(factors),
        verdict=[f"in {count} cases" for count in steps["contexts"]],
    )
    caption = "Bars: intervals over rounds, which hold for all steps at once."
    return forest(
        marks,
        {name: drawing.other_style(i) for i, name in enumerate(marks["series"].unique())},
        "ratio of goodput by step",
        title="Effect of each step of a factor",
        quantity="ratio of goodput",
        scale=RATIO,
        caption=caption if steps["low"].notna().any() else "",
        ax=ax,
    )
