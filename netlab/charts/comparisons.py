"""Forest plots of comparisons: two sides, generators, knobs of a screen, steps of a factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import any_factors
from netlab.analysis.compare import CANNOT_TELL, FASTER, NO_INTERVAL, SAME, SLOWER, Compared
from netlab.charts import looks
from netlab.charts.chart import Gallery
from netlab.charts.forest import RATIO, Styles, forest, in_percent
from netlab.units import arrows

ROWS_OF_A_CHART = 40
"""More cells than this are drawn as one chart a group."""

STYLES: Styles = {
    SLOWER: {"color": looks.OTHERS[1], "marker": "v"},
    FASTER: {"color": looks.OTHERS[4], "marker": "^"},
    SAME: {"color": looks.OTHERS[2], "marker": "o"},
    CANNOT_TELL: {"color": looks.CEILING_COLOUR, "marker": "o", "markerfacecolor": "white"},
    NO_INTERVAL: {"color": looks.CEILING_COLOUR, "marker": "x"},
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
    styles = {name: looks.other_style(place) for place, name in enumerate(sides)}
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
        {name: looks.other_style(place) for place, name in enumerate(names)},
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
        {name: looks.other_style(i) for i, name in enumerate(marks["series"].unique())},
        "ratio of goodput by step",
        title="Effect of each step of a factor",
        quantity="ratio of goodput",
        scale=RATIO,
        caption=caption if steps["low"].notna().any() else "",
        ax=ax,
    )
