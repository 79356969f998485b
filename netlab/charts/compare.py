"""Charts of comparisons: two sides, generators beside a reference, and the knobs of a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis.compare import CANNOT_TELL, FASTER, SAME, SLOWER, Compared
from netlab.charts.chart import Gallery
from netlab.charts.forest import forest, in_percent
from netlab.charts.theme import CEILING_COLOUR, OTHERS, other_style
from netlab.units import arrows

ROWS_OF_A_CHART = 40
"""More cells than this are drawn as one chart a group."""

STYLES: dict[str, dict[str, Any]] = {
    SLOWER: {"color": OTHERS[1], "marker": "v"},
    FASTER: {"color": OTHERS[4], "marker": "^"},
    SAME: {"color": OTHERS[2], "marker": "o"},
    CANNOT_TELL: {"color": CEILING_COLOUR, "marker": "o", "markerfacecolor": "white"},
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
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the difference of every cell, a row each, by verdict and size of the effect."""
    rows = compared.frame if cells is None else cells
    return _by_verdict(
        rows,
        _names(rows, compared.keys),
        compared.same_within_percent,
        "goodput of B against A in per cent, one row a cell",
        title=title or "B against A",
        quantity="Goodput of B against A, %",
        ax=ax,
    )


def panels(compared: Compared) -> Gallery:
    """Forest plots of a comparison: one, or one a group if there are many cells."""
    rows = compared.frame
    if len(rows) <= ROWS_OF_A_CHART or "group" not in compared.keys:
        return Gallery.of(cell_forest(compared))
    parts = rows.groupby("group", sort=False)
    return Gallery.of(*(cell_forest(compared, cells=part, title=str(name)) for name, part in parts))


def _names(rows: pd.DataFrame, candidates: Sequence[str]) -> list[str]:
    """Cells by the levels that tell them apart."""
    words = {"mtu_B": "{} B", "record_length_B": "records {} B"}
    keys: list[str] = []
    for key in candidates:  # not those that follow from the ones before, as path from group
        levels = rows[keys].drop_duplicates() if keys else rows.iloc[:1]
        if len(rows[[*keys, key]].drop_duplicates()) > len(levels):
            keys.append(key)
    keys = keys or list(candidates[:1])
    return [
        arrows(
            ", ".join(
                f"{row[key]} stream{'s' * (row[key] != 1)}"
                if key == "streams"
                else words.get(key, "{}").format(row[key])
                for key in keys
            )
        )
        for row in rows.to_dict("records")
    ]


GENERATOR_CELL = (
    *("mtu_B", "streams", "direction", "tuning", "congestion", "record_length_B", "buffer_B"),
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
        row=_names(part, GENERATOR_CELL), series=part["generator"], bound=bound_percent
    )
    return forest(
        marks.assign(hollow=part["verdict"] == CANNOT_TELL),
        {name: other_style(place) for place, name in enumerate(names)},
        f"difference of goodput from {reference} in per cent, one row a cell, one dot a "
        f"generator; a grey band marks {bound_percent:g} % either way",
        title=f"Path {path}",
        quantity=f"Goodput against {reference}, %",
        ax=ax,
    )


def knob_forest(
    effects: pd.DataFrame, bound: float, *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw the effect of every knob with its interval, largest first; pairs below."""
    pair = effects["with_knob"] != ""
    order = pd.DataFrame({"pair": pair, "size": -effects["ratio"]})
    rows = effects.loc[order.sort_values(["pair", "size"], kind="stable").index]
    names = [
        f"{knob} × {second}" if second else knob
        for knob, second in zip(rows["knob"], rows["with_knob"], strict=True)
    ]
    return _by_verdict(
        rows,
        names,
        bound,
        "effect of each knob on goodput in per cent",
        title=title or "Effect of each knob",
        quantity="Goodput with the knob against goodput without, %",
        ax=ax,
    )
