"""Charts of a search, of a benchmark and of a calibration."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from netlab.analysis.compare import CANNOT_TELL
from netlab.charts.chart import Panels, describe, save_svg
from netlab.charts.labels import legend_below
from netlab.charts.theme import (
    BAND_COLOUR,
    CEILING_COLOUR,
    MARKERS,
    OTHERS,
    mtu_styles,
    new_axes,
    other_style,
    theme,
)
from netlab.errors import BadInput

# Chart of a search: loss of each candidate against the best of its race, and its outcome.

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


# Chart of a benchmark: goodput of gensink over that of every other contender, cell by cell.

BENCH_ROW_IN = 0.42
TITLES = {"same": "Same settings", "best": "Each at its best"}


@theme()
def ratio_panels(ratios: pd.DataFrame) -> Panels:
    """Draw the ratios with their intervals, one panel of :func:`ratios_of` a mode."""
    known = _known(ratios)
    modes = [mode for mode in TITLES if (known["mode"] == mode).any()]
    rows = list(dict.fromkeys(known["cell"]))
    others = sorted(known["other"].unique())
    size = (3.6 * len(modes) + 1.6, 1.5 + BENCH_ROW_IN * len(rows))
    fig, axes = plt.subplots(1, len(modes), sharex=True, sharey=True, squeeze=False, figsize=size)
    for ax, mode in zip(axes[0], modes, strict=True):
        _draw(ax, known[known["mode"] == mode], rows, others)
        ax.set_title(TITLES[mode])
    fig.legend(*_bench_legend(others), loc="outside lower center", ncols=len(others))
    describe(fig, ratios_alt(ratios))
    return Panels(fig, axes)


@theme()
def ratios_of(ratios: pd.DataFrame, mode: str, *, ax: Axes | None = None) -> Axes:
    """Draw the ratios of one mode with their intervals, one row a cell."""
    part = _known(ratios[ratios["mode"] == mode])
    rows = list(dict.fromkeys(part["cell"]))
    others = sorted(part["other"].unique())
    ax = ax or new_axes((5.2, 1.5 + BENCH_ROW_IN * len(rows)))
    _draw(ax, part, rows, others)
    ax.set_title(TITLES[mode])
    legend_below(ax, *_bench_legend(others), ncols=len(others))
    return describe(ax, ratios_alt(part))


def _known(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratios that are drawn, with the name of their cell."""
    known = ratios[(ratios["other"] == ratios["against"]) & ratios["ratio"].notna()]
    if known.empty:
        raise BadInput("no cell has a ratio to draw", key="ratios", code="E-CHARTS-002")
    return known.assign(cell=known.apply(_cell, axis=1))


def _bench_legend(others: list[str]) -> tuple[list[Line2D], list[str]]:
    """Handles and labels of the contenders."""
    handles = [
        Line2D([], [], linestyle="", **_mark(i), markerfacecolor=OTHERS[i % len(OTHERS)])
        for i in range(len(others))
    ]
    return handles, others


def ratios_alt(ratios: pd.DataFrame) -> str:
    """Alt text of :func:`ratio_panels`."""
    ratios = ratios[(ratios["other"] == ratios["against"]) & ratios["ratio"].notna()]
    parts = []
    for (mode, other), part in ratios.groupby(["mode", "other"]):
        parts.append(
            f"{TITLES[mode].lower()}, {other}: {part['ratio'].min():.2f} to "
            f"{part['ratio'].max():.2f} in {len(part)} cells"
        )
    return f"Ratio of gensink's goodput to that of every other contender. {'; '.join(parts)}."


def _cell(row: pd.Series) -> str:
    streams = f"{row['streams']} stream" + ("s" if row["streams"] > 1 else "")
    return f"{streams}, MTU {row['mtu_B']}, offloads {row['offloads']}"


def _mark(i: int) -> dict:
    return {"marker": MARKERS[i % len(MARKERS)], "color": OTHERS[i % len(OTHERS)]}


def _draw(ax: Axes, part: pd.DataFrame, rows: list[str], others: list[str]) -> None:
    for i, other in enumerate(others):
        shift = 0.6 * ((i + 0.5) / len(others) - 0.5)
        for row in part[part["other"] == other].to_dict("records"):
            _ratio(ax, row, rows.index(row["cell"]) + shift, i)
    ax.axvline(1.0, color=CEILING_COLOUR, linewidth=1.3, linestyle=(0, (1, 1)), zorder=1)
    ax.set_xlabel("gensink over the other")
    ax.grid(axis="x")
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)


def _ratio(ax: Axes, row: dict, y: float, i: int) -> None:
    reach = np.nan_to_num(
        [[row["ratio"] - row["low"]], [row["high"] - row["ratio"]]], nan=0.0
    ).clip(min=0.0)
    concluded = row["verdict"] != CANNOT_TELL
    ax.errorbar(
        [row["ratio"]],
        [y],
        xerr=reach,
        linestyle="",
        capsize=2,
        elinewidth=1.1,
        markerfacecolor=OTHERS[i % len(OTHERS)] if concluded else "white",
        **_mark(i),
    )


# Charts of a calibration: deviations over their bound.

CALIBRATION_WIDTH_IN, CALIBRATION_ROW_IN, DOT_IN = 6.2, 0.15, 0.17
HEADROOM = 1.08
WITHIN = "within"
"""Verdict of a cell within its bound."""

CAPTION = (
    "Dots: medians of all runs; lines: least to greatest; grey: the bound of each row. "
    "A hollow dot is not within its bound."
)

RATE_COLUMNS = (
    *("rate_Mbps", "mtu_B", "error_percent", "least_percent", "greatest_percent"),
    *("within_percent", "verdict"),
)
ROUND_TRIP_COLUMNS = (
    *("rtt_ms", "load", "deviation_us", "least_us", "greatest_us"),
    *("bound_us", "verdict"),
)


@dataclass(frozen=True)
class _Columns:
    """Columns of a deviation, its spread and its bound, and their unit."""

    middle: str
    least: str
    greatest: str
    bound: str
    unit: str
    digits: int


_OF_RATES = _Columns(*RATE_COLUMNS[2:6], unit="%", digits=2)
_OF_ROUND_TRIPS = _Columns(*ROUND_TRIP_COLUMNS[2:6], unit="µs", digits=0)


@theme()
def rates(cells: pd.DataFrame, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw the deviation from every known rate, a row a rate and a dot an MTU."""
    rows = [f"{rate:g} Mb/s" for rate in cells["rate_Mbps"]]
    if "rtt_ms" in cells:
        rows = [f"{row}, {rtt:g} ms" for row, rtt in zip(rows, cells["rtt_ms"], strict=True)]
    styles = {f"{mtu_B} B": style for mtu_B, style in mtu_styles(cells["mtu_B"]).items()}
    return _deviations(
        cells.assign(row=rows, dot=[f"{mtu_B:.0f} B" for mtu_B in cells["mtu_B"]]),
        {name: styles[name] for name in dict.fromkeys(f"{m:.0f} B" for m in cells["mtu_B"])},
        _OF_RATES,
        title=title or "Deviation from known rates",
        quantity="Goodput against what TCP can carry, %",
        ax=ax,
    )


@theme()
def round_trips(cells: pd.DataFrame, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw the deviation from every emulated round-trip time, a dot a load."""
    loads = dict.fromkeys(map(str, cells["load"]))
    return _deviations(
        cells.assign(row=[f"{rtt:g} ms" for rtt in cells["rtt_ms"]], dot=cells["load"].map(str)),
        {load: other_style(place) for place, load in enumerate(loads)},
        _OF_ROUND_TRIPS,
        title=title or "Deviation from emulated round-trip times",
        quantity="Round trip against the one asked for, µs",
        ax=ax,
    )


def _deviations(
    cells: pd.DataFrame,
    styles: Mapping[str, dict[str, Any]],
    columns: _Columns,
    *,
    title: str,
    quantity: str,
    ax: Axes | None,
) -> Axes:
    """Dots of `cells` in rows of their ``row``, each in the style of its ``dot``."""
    names = cells["row"].drop_duplicates().tolist()
    step = CALIBRATION_ROW_IN + DOT_IN * len(styles)
    ax = ax or new_axes((CALIBRATION_WIDTH_IN, 1.6 + step * len(names)))
    bounds = cells.groupby("row", sort=False)[columns.bound].max()
    for row, bound in enumerate(bounds):
        ax.barh(-row, 2 * bound, left=-bound, height=0.94, color=BAND_COLOUR, zorder=0)
    ax.axvline(0, color=CEILING_COLOUR, linewidth=1, zorder=1)
    for place, (name, style) in enumerate(styles.items()):
        part = cells[cells["dot"] == name]
        y = np.array([-names.index(row) for row in part["row"]], dtype=float)
        y -= (place - (len(styles) - 1) / 2) * DOT_IN / step
        colour = style["color"]
        ax.hlines(y, part[columns.least], part[columns.greatest], color=colour, linewidth=1.5)
        dots = style | {"linestyle": "none", "markersize": 6.5, "zorder": 3}
        ax.plot(part[columns.middle], y, label=name, **dots)
        off = (part["verdict"] != WITHIN).to_numpy()
        hollow = dots | {"markerfacecolor": "white", "markeredgecolor": colour}
        ax.plot(part[columns.middle][off], y[off], label="_off", **hollow)
    ax.set_yticks([-row for row in range(len(names))], names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", visible=True)
    reach = HEADROOM * float(np.nanmax(cells[[*_numbers(columns)]].abs().to_numpy()))
    ax.set(xlim=(-reach, reach), ylim=(0.55 - len(names), 0.55), title=title, xlabel=quantity)
    legend_below(ax, ncols=len(styles))
    words = "; ".join(_in_words(row, columns) for row in cells.to_dict("records"))
    alt = (
        f"Dots with least and greatest, {title}: deviation in {columns.unit}, one row a setting; "
        f"a grey band marks the bound of each row. {words}."
    )
    return describe(ax, alt, CAPTION)


def _numbers(columns: _Columns) -> tuple[str, ...]:
    return columns.middle, columns.least, columns.greatest, columns.bound


def _in_words(row: dict, columns: _Columns) -> str:
    """A cell for the alternative text."""
    name = f"{row['row']}, {row['dot']}"
    if pd.isna(row[columns.middle]):
        return f"{name}: {row['verdict']}"
    middle, least, greatest = (f"{row[one]:+.{columns.digits}f}" for one in _numbers(columns)[:3])
    return f"{name}: {middle} {columns.unit} ({least} to {greatest}), {row['verdict']}"
