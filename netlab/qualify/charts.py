"""Charts of a benchmark."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd

from netlab.analysis.compare import CANNOT_TELL, NO_INTERVAL
from netlab.charts import forest
from netlab.charts.chart import Panels, describe
from netlab.charts.legends import legend_of
from netlab.charts.looks import other_style, theme
from netlab.errors import check

TITLES = {"same": "Same settings", "best": "Each at its best"}


@theme()
def ratio_panels(ratios: pd.DataFrame) -> Panels:
    """Draw the ratios with their intervals, a panel a mode, a row a cell."""
    marks = _marks(ratios)
    check(len(marks), "ratios", None, "no cell has a ratio to draw", "E-CHARTS-002")
    modes = [mode for mode in TITLES if (marks["mode"] == mode).any()]
    styles = {name: other_style(i) for i, name in enumerate(sorted(marks["series"].unique()))}
    size = (3.6 * len(modes) + 1.6, forest.height_in(marks, styles))
    fig, axes = plt.subplots(1, len(modes), sharex=True, sharey=True, squeeze=False, figsize=size)
    reach, rows = forest.reach_of(marks, forest.RATIO), list(dict.fromkeys(marks["row"]))
    for ax, mode in zip(axes[0], modes, strict=True):
        part = marks[marks["mode"] == mode]
        forest.draw(ax, part, styles, scale=forest.RATIO, reach=reach, rows=rows)
        ax.set(title=TITLES[mode], xlabel="gensink over the other")
    legend_of(fig, styles)
    return Panels(describe(fig, ratios_alt(ratios)), axes)


def _marks(ratios: pd.DataFrame) -> pd.DataFrame:
    drawn = ratios[(ratios["other"] == ratios["against"]) & ratios["ratio"].notna()]
    rows = [
        f"{streams} stream{'s' * (streams > 1)}, MTU {mtu_B}, offloads {offloads}"
        for streams, mtu_B, offloads in drawn[["streams", "mtu_B", "offloads"]].to_numpy()
    ]
    hollow = drawn["verdict"].isin((CANNOT_TELL, NO_INTERVAL))
    marks = drawn.assign(row=rows, series=drawn["other"], hollow=hollow)
    return marks.rename(columns={"ratio": "centre"})


def ratios_alt(ratios: pd.DataFrame) -> str:
    parts = [
        f"{TITLES[mode]}: {forest.in_words(part, forest.RATIO)}"
        for mode, part in _marks(ratios).groupby("mode")
    ]
    return f"Ratio of gensink's goodput to that of every other contender. {'. '.join(parts)}."
