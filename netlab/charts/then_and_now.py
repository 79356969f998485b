"""Charts of a measured study beside the published one: shares of the ceiling, and ratios."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netlab.analysis.printed import unit_of
from netlab.analysis.then_and_now import BAND, FLUCTUATION
from netlab.charts.chart import Gallery, describe
from netlab.charts.forest import RATIO, Reach, forest, reach_of
from netlab.charts.labels import ceiling_line, label_lines, line_with_bars
from netlab.charts.theme import mtu_styles, side_style, theme
from netlab.published.layout import TUNING_WORDS

SIDES = {"then": "2003", "now": "measured"}
"""Prefix of the columns of a side -> title of its axes."""

PAIR_SIZE_IN = (5.0, 3.1)
RATIO_WIDTH_IN = 4.9
HEADROOM = 1.1
CLIP_ABOVE_MEAN = 1.25
"""Largest stretch of the axis by an interval, as a factor of the highest mean."""


def beside(cells: pd.DataFrame) -> Gallery:
    """Draw goodput over streams then and now, one chart a group and tuning."""
    groups = cells[cells["now_percent"].notna()].groupby(["table", "group"])
    return Gallery.of(
        *(
            _pair(whole, tuning)
            for _, whole in groups
            for tuning in TUNING_WORDS
            if (whole["tuning"] == tuning).any()
        )
    )


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
    both = _marks(part, BAND)
    reach = reach_of(both, RATIO) if len(both) else None
    if factor == "direction":  # one pair of groups a step: the tunings make the rows
        charts = [
            ratio_forest(rows, step, rows["where"].tolist(), reach=reach)
            for step, rows in part.groupby("step", sort=False)
        ]
    else:
        charts = [
            ratio_forest(
                rows, f"{step}\n{where}", [f"Table {t}" for t in rows["tables"]], reach=reach
            )
            for (step, where), rows in part.groupby(["step", "where"], sort=False)
        ]
    return Gallery.of(*charts)


def published_steps(steps: pd.DataFrame, error: float, title: str) -> Gallery:
    """Draw the effect of each step of a published table beside the measured one."""
    if steps.empty:
        return Gallery()
    names = [f"{unit_of(row.factor).partition(',')[0]} {row.step}" for row in steps.itertuples()]
    return Gallery.of(ratio_forest(steps, title, names, band=error))


def ratio_forest(
    rows: pd.DataFrame,
    title: str,
    names: Sequence[str],
    *,
    reach: Reach | None = None,
    band: float = BAND,
    ax: Axes | None = None,
) -> Axes:
    """Draw the published and the measured ratio of each row with their intervals."""
    return forest(
        _marks(rows, band, names),
        {label: side_style(side) for side, label in SIDES.items()},
        "ratio of goodput, by row on a logarithmic axis; a grey band marks no change",
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
