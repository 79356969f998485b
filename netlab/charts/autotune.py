"""Chart of a search: loss of each candidate against the best of its race, and its outcome."""

from __future__ import annotations

import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from netlab.charts.chart import describe, save_svg
from netlab.charts.labels import legend_below
from netlab.charts.palette import CEILING_COLOUR, OTHERS
from netlab.charts.panels import Panels
from netlab.charts.theme import new_axes, theme
from netlab.errors import BadInput

ROW_IN, HEAD_IN, WIDTH_IN = 0.27, 0.75, 8.2
DPI = 150
CLIP_BEYOND = 2.5
"""Largest stretch of an axis by an interval, as a factor of the farthest candidate."""
UNCUT_PERCENT = 10.0
"""Intervals up to here are drawn whole."""

FATES = {"chosen": (OTHERS[2], "D"), "left": (OTHERS[4], "o"), "out": (OTHERS[1], "X")}
"""Colour and marker of the outcome of a candidate."""

LOSS = "worse than the best of its race, %"


@theme()
def search_panels(search: pd.DataFrame, caption: str = "") -> Panels:
    """Draw one panel of :func:`race` for each race of a search."""
    if search.empty:
        raise BadInput(
            "no race was run, so there is nothing to draw", key="search", code="E-CHARTS-001"
        )
    stages = [part for _, part in search.groupby("stage", sort=True)]
    heights = [HEAD_IN + ROW_IN * len(part) for part in stages]
    fig, axes = plt.subplots(
        len(stages),
        1,
        squeeze=False,
        height_ratios=heights,
        figsize=(WIDTH_IN, sum(heights) + 0.8),
    )
    for ax, part in zip(axes[:, 0], stages, strict=True):
        _race(ax, part)
    axes[-1, 0].set_xlabel(LOSS)
    fig.legend(*_legend(), loc="outside lower center", ncols=len(FATES))
    if caption:
        fig.suptitle(textwrap.fill(caption, 100), fontsize=9.5, ha="left", x=0.01)
    describe(fig, search_alt(search), caption)
    return Panels(fig, axes)


@theme()
def race(part: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw one race, a row a candidate, with the interval that decided."""
    ax = ax or new_axes((WIDTH_IN, HEAD_IN + ROW_IN * len(part) + 0.8))
    _race(ax, part)
    ax.set_xlabel(LOSS)
    legend_below(ax, *_legend(), ncols=len(FATES))
    return describe(ax, search_alt(part))


def _legend() -> tuple[list[Line2D], list[str]]:
    """Handles and labels of the outcomes."""
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour)
        for colour, marker in FATES.values()
    ]
    return handles, list(FATES)


def _race(ax: Axes, part: pd.DataFrame) -> None:
    part = part.reset_index(drop=True)
    kind = part["fate"].map(_kind)
    at = np.arange(len(part))
    chosen = (kind == "chosen") & part["worse_percent"].isna()
    centre = part["worse_percent"].astype(float).where(~chosen, 0.0)
    low, high = (part[f"{end}_percent"].astype(float).fillna(centre) for end in ("low", "high"))
    limits = _limits(centre, low, high)
    for fate, (colour, marker) in FATES.items():
        some = (kind == fate) & centre.notna()
        ax.hlines(
            at[some],
            low[some].clip(lower=limits[0]),
            high[some].clip(upper=limits[1]),
            color=colour,
            linewidth=1.4,
        )
        for mark, end, cut in (
            ("<", limits[0], low < limits[0]),
            (">", limits[1], high > limits[1]),
        ):
            for row in at[some & cut]:
                ax.plot(end, row, mark, color=colour, markersize=5, clip_on=False)
        sns.scatterplot(
            x=centre[some], y=at[some], color=colour, marker=marker, s=42, ax=ax, zorder=3
        )
    ax.axvline(0.0, color=CEILING_COLOUR, linewidth=1.1, linestyle=(0, (1, 1)), zorder=1)
    ax.set_xlim(limits)
    ax.set_ylim(len(part) - 0.5, -0.5)
    ax.set_yticks(at, [textwrap.fill(name, 46) for name in part["candidate"]], fontsize=8)
    ax.set_title(f"{part['stage'].iloc[0]}. {part['factor'].iloc[0]}")
    ax.set(xlabel="", ylabel="")
    ax.grid(axis="x")
    ax.grid(axis="y", visible=False)
    for row, (fate, rounds) in enumerate(zip(part["fate"], part["rounds"], strict=True)):
        text = fate if fate.startswith(("out", "failed")) else f"{fate}, {rounds} rounds"
        ax.annotate(
            textwrap.shorten(text, 40, placeholder=" …"),
            (1.02, row),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8,
        )


def _limits(centre: pd.Series, low: pd.Series, high: pd.Series) -> tuple[float, float]:
    """Ends of the axis: all candidates, and intervals that are not much wider."""
    reach = float(np.nanmax(np.abs(centre.to_numpy()), initial=1.0))
    most = max(CLIP_BEYOND * reach, UNCUT_PERCENT)
    left = min(most, float(np.nanmax(-low.to_numpy(), initial=0.0)))
    right = min(most, float(np.nanmax(high.to_numpy(), initial=0.0)))
    return -max(2.0, 0.35 * reach, 1.05 * left), max(1.35 * reach + 1.0, 1.05 * right)


def _kind(fate: str) -> str:
    """Outcome in one word: ``chosen``, ``left`` or ``out``; a failed candidate is ``out``."""
    if fate.startswith(("out", "failed")):
        return "out"
    return "chosen" if fate.startswith("chosen") else "left"


def search_alt(search: pd.DataFrame) -> str:
    """Alt text of :func:`search_panels`."""
    parts = []
    for number, part in search.groupby("stage", sort=True):
        kind = part["fate"].map(_kind)
        chosen = part.loc[kind == "chosen", "candidate"]
        ends = f"{chosen.iloc[0]} chosen" if len(chosen) else "nothing chosen"
        parts.append(
            f"race {number}, {part['factor'].iloc[0]}: {len(part)} candidates, "
            f"{int((kind == 'out').sum())} out, {ends}"
        )
    return f"Races of a search and who was dropped. {'; '.join(parts)}."


def save_chart(figure: Figure, path: Path, alt: str) -> Path:
    """Write a figure as SVG or PNG, by its suffix, with its alt text; closes the figure."""
    if path.suffix.lower() == ".svg":
        save_svg(figure, path, alt)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="png", dpi=DPI, metadata={"Description": alt})
    plt.close(figure)
    return path
