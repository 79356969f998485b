"""A measured study beside the published one: shares of the ceiling, and ratios."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netlab.analysis.any_factors import unit_of
from netlab.charts import axis_bounds, line_labels, looks
from netlab.charts.chart import Gallery, describe
from netlab.charts.forest import RATIO, Reach, forest, reach_of
from netlab.openlab.figures.printed import TUNINGS, stream_ticks
from netlab.openlab.published.layout import TUNING_WORDS
from netlab.openlab.then_and_now import BAND, FLUCTUATION

SIDES = {"then": "2003", "now": "measured"}
"""Prefix of the columns of a side -> title of its axes."""

PAIR_SIZE_IN = (5.0, 3.1)
RATIO_WIDTH_IN = 4.9
HEADROOM = 1.1
CLIP_ABOVE_MEAN = 1.25
"""Largest stretch of the axis by an interval, as a factor of the highest mean."""


def beside(cells: pd.DataFrame) -> Gallery:
    """Draw goodput over streams then and now, one chart a group and tuning."""
    groups = [part for _, part in cells[cells["now_percent"].notna()].groupby(["table", "group"])]
    pairs = product(groups, TUNINGS)
    return Gallery.of(*(_pair(part, t) for part, t in pairs if (part["tuning"] == t).any()))


@looks.theme()
def _pair(whole: pd.DataFrame, tuning: str) -> Figure:
    part = whole[whole["tuning"] == tuning].sort_values("streams")
    group, table = part.iloc[0]["group"], part.iloc[0]["table"]
    whose = f"{group}, {TUNING_WORDS[tuning]}"
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=PAIR_SIZE_IN)
    styles, words = looks.mtu_styles(whole["mtu_B"]), []
    means = max(whole["now_percent"].max(), whole["then_percent"].max(), 100.0)
    highest = min(whole["now_percent_high"].fillna(0).max(), CLIP_ABOVE_MEAN * means)
    for ax, (side, title) in zip(axes, SIDES.items(), strict=True):
        for mtu_B, line in part.groupby("mtu_B"):
            then, values = line["then_percent"], line[f"{side}_percent"]
            ends = (line["now_percent_low"], line["now_percent_high"])
            if side == "then":
                ends = (then * (1 - FLUCTUATION), then * (1 + FLUCTUATION))
            style: dict[str, Any] = {"style": styles[mtu_B], "ceiling": 100.0}
            axis_bounds.line_with_bars(
                ax, line["streams"], values, ends, label=f"{mtu_B} B", **style
            )
            listed = zip(values, line["streams"], strict=True)
            words.append(f"{title}, {mtu_B} B: {', '.join(f'{v:.0f} with {n}' for v, n in listed)}")
        axis_bounds.ceiling_line(ax, 100.0, "ceiling", written=side == "then")
        stream_ticks(ax, part["streams"], 1.05)
        ax.set(title=title, xlabel="Streams", ylim=(0, HEADROOM * max(means, highest)))
    axes[0].set_ylabel("goodput, % of ceiling")
    fig.suptitle(f"Table {table}: {whose}", x=0.02, ha="left", fontweight="bold", fontsize=10)
    for ax in axes:
        line_labels.label_lines(ax, laid_out=ax is not axes[0])
    ceilings = (part.iloc[0]["then_ceiling_MBps"], part["now_ceiling_MBps"].median())
    limits = f"{ceilings[0]:.0f} MB/s in 2003, {ceilings[1]:.0f} MB/s measured"
    alt = (
        f"Line charts side by side on one scale, table {table}, {whose}: goodput in per cent of "
        f"the ceiling ({limits}) by number of streams. {'; '.join(words)}."
    )
    both = ", each of both directions together" if "<->" in group else ""
    return describe(fig, alt, f"Ceiling: {limits}{both}.")


def ratios(compared: pd.DataFrame, factor: str) -> Gallery:
    """Draw the effect of each step of a factor then and now, one chart a step and condition."""
    part = compared[compared["factor"] == factor]
    both = _marks(part, BAND)
    reach = reach_of(both, RATIO) if len(both) else None
    if factor == "direction":  # one pair of groups a step: the tunings make the rows
        charts = [
            (rows, step, rows["where"].tolist()) for step, rows in part.groupby("step", sort=False)
        ]
    else:
        charts = [
            (rows, "\n".join(where), [f"Table {tables}" for tables in rows["tables"]])
            for where, rows in part.groupby(["step", "where"], sort=False)
        ]
    return Gallery.of(*(ratio_forest(*each, reach=reach) for each in charts))


def published_steps(steps: pd.DataFrame, error: float, title: str, of: str) -> Gallery:
    """Draw the effect of each step of a published table beside the measured one."""
    steps = steps[steps["now_ratio"].notna()]
    if steps.empty:
        return Gallery()
    names = [f"{unit_of(row.factor).partition(',')[0]} {row.step}" for row in steps.itertuples()]
    return Gallery.of(ratio_forest(steps, title, names, band=error, of=of))


def ratio_forest(
    rows: pd.DataFrame,
    title: str,
    names: Sequence[str],
    *,
    reach: Reach | None = None,
    band: float = BAND,
    of: str = "goodput",
    ax: Axes | None = None,
) -> Axes:
    """Draw the published and the measured ratio of each row with their intervals."""
    return forest(
        _marks(rows, band, names),
        {label: looks.side_style(side) for side, label in SIDES.items()},
        f"ratio of {of}, by row on a logarithmic axis; a grey band marks no change",
        title=title,
        quantity="Ratio after / before",
        scale=RATIO,
        reach=reach,
        beside=rows["verdict"].tolist(),
        width_in=RATIO_WIDTH_IN,
        ax=ax,
    )


def _marks(rows: pd.DataFrame, band: float, names: Sequence[str] = ()) -> pd.DataFrame:
    """Both ratios of each row as marks, with what the published one did and the verdict."""
    rows, sides = rows.reset_index(drop=True), []
    for (side, label), word in zip(SIDES.items(), ("said", "verdict"), strict=True):
        columns = {f"{side}_{end}": end for end in ("low", "high")}
        columns |= {f"{side}_ratio": "centre", word: "verdict"}
        marks = rows[list(columns)].rename(columns=columns)
        sides.append(marks.assign(row=names or rows.index, series=label, bound=band))
    return pd.concat(sides).sort_index(kind="stable")
