"""Charts of a measured study beside the published one: shares of the ceiling, and ratios."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netlab.analysis.printed import unit_of
from netlab.analysis.then_and_now import BAND, FLUCTUATION
from netlab.charts.chart import Gallery, describe
from netlab.charts.labels import ceiling_line, label_lines, legend_below, line_with_bars, ratio_axis
from netlab.charts.theme import (
    BAND_COLOUR,
    CEILING_COLOUR,
    SMALL_CHART_SIZE_IN,
    mtu_styles,
    new_axes,
    side_style,
    theme,
)
from netlab.published.layout import TUNING_WORDS

SIDES = {"then": "2003", "now": "measured"}
"""Prefix of the columns of a side -> title of its axes."""

PAIR_SIZE_IN = (5.0, 3.1)
RATIO_WIDTH_IN = 4.9
RATIO_ROW_IN = 0.34
HEADROOM = 1.1
CLIP_ABOVE_MEAN = 1.25
"""Largest stretch of the axis by an interval, as a factor of the highest mean."""
CLIP_BEYOND_RATIO = 2.0
"""Largest stretch of the axis by an interval, as a factor of the outermost ratio."""


def beside(cells: pd.DataFrame) -> Gallery:
    """Draw goodput over streams then and now by :func:`shares`, one chart a group and tuning."""
    charts = []
    known = cells[cells["now_percent"].notna()]
    for _, whole in known.groupby(["table", "group"]):
        for tuning in [t for t in TUNING_WORDS if (whole["tuning"] == t).any()]:
            charts.append(_pair(whole, tuning))
    return Gallery.of(*charts)


@theme()
def shares(part: pd.DataFrame, side: str, *, ax: Axes | None = None) -> Axes:
    """Draw goodput of one group and tuning over streams, then or now, one line an MTU."""
    ax = ax or new_axes(SMALL_CHART_SIZE_IN)
    words = _side(ax, part, side, mtu_styles(part["mtu_B"]), _top(part))
    ax.set_ylabel("goodput, % of ceiling")
    label_lines(ax)
    name = f"{part.iloc[0]['group']}, {TUNING_WORDS[part.iloc[0]['tuning']]}"
    alt = f"Line chart of goodput in per cent of the ceiling, {name}. {'; '.join(words)}."
    return describe(ax, alt)


def _side(ax: Axes, part: pd.DataFrame, side: str, styles: dict, top: float) -> list[str]:
    """Draw the lines of one side; return them in words."""
    words = []
    for mtu_B, line in part.sort_values("streams").groupby("mtu_B"):
        values = line[f"{side}_percent"].to_numpy()
        line_with_bars(
            *(ax, line["streams"], values, _ends(line, side)),
            label=f"{mtu_B} B",
            style=styles[mtu_B],
            ceiling=100.0,
        )
        listed = ", ".join(f"{v:.0f} with {n}" for v, n in zip(values, line["streams"],
                                                              strict=True))  # fmt: skip
        words.append(f"{SIDES[side]}, {mtu_B} B: {listed}")
    ceiling_line(ax, 100.0, "ceiling", written=side == "then")
    ticks = sorted(part["streams"].unique())
    ax.set_xticks(ticks, [str(n) for n in ticks])
    ax.set(title=SIDES[side], xlabel="Streams", xlim=(0, max(ticks) * 1.05), ylim=(0, top))
    return words


@theme()
def _pair(whole: pd.DataFrame, tuning: str) -> Figure:
    part = whole[whole["tuning"] == tuning]
    group, table = part.iloc[0]["group"], part.iloc[0]["table"]
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=PAIR_SIZE_IN)
    styles = mtu_styles(whole["mtu_B"])
    words: list[str] = []
    for ax, side in zip(axes, SIDES, strict=True):
        words += _side(ax, part, side, styles, _top(whole))
    axes[0].set_ylabel("goodput, % of ceiling")
    fig.suptitle(f"Table {table}: {group}, {TUNING_WORDS[tuning]}", x=0.02, ha="left",
                 fontweight="bold", fontsize=10)  # fmt: skip
    for ax in axes:
        label_lines(ax, laid_out=ax is not axes[0])
    ceilings = (part.iloc[0]["then_ceiling_MBps"], part["now_ceiling_MBps"].median())
    return describe(
        fig,
        f"Line charts side by side on one scale, table {table}, {group}, {TUNING_WORDS[tuning]}: "
        f"goodput in per cent of the ceiling ({ceilings[0]:.0f} MB/s in 2003, "
        f"{ceilings[1]:.0f} MB/s measured) by number of streams. {'; '.join(words)}.",
        f"Ceiling: {ceilings[0]:.0f} MB/s in 2003, {ceilings[1]:.0f} MB/s measured"
        + (", each of both directions together." if "<->" in group else "."),
    )


def _ends(line: pd.DataFrame, side: str) -> tuple[np.ndarray, np.ndarray]:
    if side == "now":
        return line["now_percent_low"].to_numpy(), line["now_percent_high"].to_numpy()
    values = line["then_percent"].to_numpy()
    return values * (1 - FLUCTUATION), values * (1 + FLUCTUATION)


def _top(whole: pd.DataFrame) -> float:
    means = max(whole["now_percent"].max(), whole["then_percent"].max(), 100.0)
    highest = min(whole["now_percent_high"].fillna(0).max(), CLIP_ABOVE_MEAN * means)
    return HEADROOM * max(means, highest)


def ratios(compared: pd.DataFrame, factor: str) -> Gallery:
    """Draw the effect of each step of a factor then and now, one chart a step and condition."""
    part = compared[compared["factor"] == factor]
    if part.empty:
        return Gallery()
    reach = _reach(part)
    if factor == "direction":  # one pair of groups a step: the tunings make the rows
        charts = [
            forest(rows, step, rows["where"].tolist(), reach)
            for step, rows in part.groupby("step", sort=False)
        ]
    else:
        charts = [
            forest(rows, f"{step}\n{where}", [f"Table {t}" for t in rows["tables"]], reach)
            for (step, where), rows in part.groupby(["step", "where"], sort=False)
        ]
    return Gallery.of(*charts)


def _reach(part: pd.DataFrame) -> tuple[float, float]:
    """Ends of the axis: all ratios, and their intervals up to the clipping limit."""
    points = part[["then_low", "then_high", "now_ratio"]].to_numpy()
    low, high = min(points.min(), 1 / BAND), max(points.max(), BAND)
    low = max(np.nanmin([low, part["now_low"].min()]), low / CLIP_BEYOND_RATIO)
    high = min(np.nanmax([high, part["now_high"].max()]), high * CLIP_BEYOND_RATIO)
    return low / HEADROOM, high * HEADROOM


def published_steps(steps: pd.DataFrame, error: float, title: str) -> Gallery:
    """Draw the effect of each step of a published table beside the measured one."""
    if steps.empty:
        return Gallery()
    rows = steps.rename(columns={"low": "now_low", "high": "now_high"}).assign(
        then_low=steps["then_ratio"] / error, then_high=steps["then_ratio"] * error
    )
    names = [f"{unit_of(row.factor).partition(',')[0]} {row.step}" for row in steps.itertuples()]
    return Gallery.of(forest(rows, title, names, _reach(rows), band=error))


@theme()
def forest(
    rows: pd.DataFrame,
    title: str,
    names: list[str],
    reach: tuple[float, float],
    *,
    band: float = BAND,
    ax: Axes | None = None,
) -> Axes:
    """Draw the published and the measured ratio of each row with their intervals."""
    places = np.arange(len(rows))[::-1]
    height = 1.35 + 0.17 * title.count("\n") + RATIO_ROW_IN * len(rows)
    ax = ax or new_axes((RATIO_WIDTH_IN, height))
    ax.axvspan(1 / band, band, color=BAND_COLOUR, zorder=0)
    ax.axvline(1, color=CEILING_COLOUR, linewidth=1, zorder=1)
    for i, (side, label) in enumerate((("then", "2003"), ("now", "measured"))):
        values = rows[f"{side}_ratio"].to_numpy()
        bars = [values - rows[f"{side}_low"], rows[f"{side}_high"] - values]
        style = side_style(side)
        ax.errorbar(
            values, places + 0.17 - 0.34 * i, xerr=np.nan_to_num(bars), fmt=style["marker"],
            color=style["color"], markersize=5, capsize=2.5, elinewidth=1.3, label=label,
        )  # fmt: skip
    ax.set(ylim=(-0.6, len(rows) - 0.4), title=title, xlabel="Ratio after / before")
    ratio_axis(ax, reach)
    ax.set_yticks(places, names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    right = ax.secondary_yaxis("right")
    right.set_yticks(places, rows["verdict"].tolist())
    right.tick_params(axis="y", length=0)
    right.spines["right"].set_visible(False)
    legend_below(ax, ncols=2)
    words = "; ".join(
        f"{name}: 2003 ×{row.then_ratio:.2f}, measured ×{row.now_ratio:.2f}{_span(row)}, "
        f"{row.verdict}"
        for name, row in zip(names, rows.itertuples(), strict=True)
    )
    step = title.replace("\n", ", ")
    return describe(ax, f"Ratio of goodput, {step}, by row on a logarithmic axis. {words}.")


def _span(row) -> str:
    if math.isnan(row.now_low):
        return " (no interval)"
    return f" ({row.now_low:.2f} to {row.now_high:.2f})"
