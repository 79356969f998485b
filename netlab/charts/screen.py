"""Forest plot of a screen: the effect of every knob, and of the pairs that were estimated."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from netlab.charts.chart import describe
from netlab.charts.compare import forest_of, in_words


def knob_forest(
    effects: pd.DataFrame, bound: float, *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw the effect of every knob with its interval, largest first; pairs below."""
    order = pd.DataFrame(
        {"pair": effects["with_knob"] != "", "size": -effects["ratio"]}
    ).sort_values(["pair", "size"], kind="stable")
    frame = effects.loc[order.index].reset_index(drop=True)
    names = [
        f"{knob} × {second}" if second else knob
        for knob, second in zip(frame["knob"], frame["with_knob"], strict=True)
    ]
    ax = forest_of(
        frame,
        names,
        bound,
        title=title or "Effect of each knob",
        quantity="Goodput with the knob against goodput without, %",
        ax=ax,
    )
    return describe(
        ax,
        f"Forest plot{f', {title}' if title else ''}: effect of each knob on goodput in per cent "
        f"with its simultaneous interval; a grey band marks {bound:g} % either way. "
        f"{in_words(frame, names)}.",
    )
