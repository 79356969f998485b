"""Chart of a search: each candidate against the best of its race."""

from __future__ import annotations

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

from netlab.charts import forest
from netlab.charts.chart import Panels, describe
from netlab.charts.legends import legend_of
from netlab.charts.looks import OTHERS, theme
from netlab.errors import check

FATES: forest.Styles = {
    "chosen": {"color": OTHERS[2], "marker": "D"},
    "left": {"color": OTHERS[4], "marker": "o"},
    "out": {"color": OTHERS[1], "marker": "X"},
}
"""Colour and marker of the outcome of a candidate."""


@theme()
def search_panels(search: pd.DataFrame, caption: str = "") -> Panels:
    """Draw the races of a search, a row a candidate, with the interval that decided."""
    text = "no race was run, so there is nothing to draw"
    check(len(search), "search", None, text, "E-CHARTS-001")
    races = {
        f"{stage}. {part['factor'].iloc[0]}": _race(part) for stage, part in search.groupby("stage")
    }
    heights = [forest.height_in(marks, FATES) - 0.7 for marks in races.values()]
    grid: dict[str, Any] = {"squeeze": False, "figsize": (8.2, sum(heights) + 0.8)}
    fig, axes = plt.subplots(len(races), 1, height_ratios=heights, **grid)
    for ax, (title, marks) in zip(axes[:, 0], races.items(), strict=True):
        forest.draw(ax, marks, FATES, beside=marks["beside"].tolist())
        ax.set_title(title)
        ax.tick_params(axis="y", labelsize=8)
    axes[-1, 0].set_xlabel("worse than the best of its race, %")
    legend_of(fig, FATES)
    if caption:
        fig.suptitle(textwrap.fill(caption, 100), fontsize=9.5, ha="left", x=0.01)
    return Panels(describe(fig, search_alt(search), caption), axes)


def _race(part: pd.DataFrame) -> pd.DataFrame:
    kind, centre = part["fate"].map(_kind), part["worse_percent"].astype(float)
    rounds = ", " + part["rounds"].astype(str) + " rounds"
    beside = part["fate"] + rounds.where(kind != "out", "")
    return pd.DataFrame(
        {
            "row": part["candidate"].map(lambda name: textwrap.fill(name, 46)),
            "series": kind,
            "centre": centre.fillna(0.0).where(centre.notna() | (kind == "chosen")),
            "low": part["low_percent"].astype(float),
            "high": part["high_percent"].astype(float),
            "beside": beside.map(lambda text: textwrap.shorten(text, 40, placeholder=" …")),
        }
    )


def _kind(fate: str) -> str:
    """Outcome in one word: ``chosen``, ``left`` or ``out``; a failed candidate is ``out``."""
    if fate.startswith(("out", "failed")):
        return "out"
    return "chosen" if fate.startswith("chosen") else "left"


def search_alt(search: pd.DataFrame) -> str:
    parts = []
    for number, part in search.groupby("stage"):
        kind = part["fate"].map(_kind)
        chosen = part.loc[kind == "chosen", "candidate"]
        ends = f"{chosen.iloc[0]} chosen" if len(chosen) else "nothing chosen"
        parts.append(
            f"race {number}, {part['factor'].iloc[0]}: {len(part)} candidates, "
            f"{int((kind == 'out').sum())} out, {ends}"
        )
    return f"Races of a search and who was dropped. {'; '.join(parts)}."
