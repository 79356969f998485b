"""Cells over any factor, with lines for another one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import any_factors, cell_texts, printed
from netlab.charts import axis_bounds, line_labels, looks
from netlab.charts.cells import (
    QUANTITIES,
    SIZE_IN,
    axis_label,
    caption_of_lines,
    cell_line,
    finish_axes,
)
from netlab.charts.chart import describe
from netlab.errors import require
from netlab.study import Study
from netlab.study.factors import level_text

MOST_TICKS = 12
"""Levels of an axis that all get a tick."""


def over_factor(
    cells: pd.DataFrame,
    x: str,
    hue: str = "",
    *,
    at: Mapping[str, object] = {},
    y: str = "goodput_MBps",
    study: Study | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw cells over one factor, a line for each level of another."""
    require(y, QUANTITIES, key="y", code="E-CHARTS-009")
    part = any_factors.of_two(cells, x, hue, at, study)
    levels = any_factors.ordered(x, part[x], study)
    lines = any_factors.ordered(hue, part[hue], study) if hue else [None]
    labels, styles = cell_texts.tuning_labels(part, study), looks.level_styles(hue, lines)
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in levels)
    places = {level: float(level) if numeric else float(i) for i, level in enumerate(levels)}
    part, words = part.assign(place=part[x].map(places)), []
    with looks.theme() if ax is None else nullcontext():
        ax = ax or looks.new_axes(SIZE_IN)
        for level in lines:
            line = part if level is None else part[part[hue] == level]
            label = "" if level is None else any_factors.level_label(hue, level, labels)
            line = cell_line(ax, line, y, label, styles[level])
            text = "no valid cell" if line.empty else printed.reach(line[y].to_numpy(dtype=float))
            words.append(f"{label}: {text}" if label else text)
        ticks = list(places.values())
        if numeric and ticks[0] > 0 and ticks[-1] / ticks[0] > axis_bounds.LINEAR_UP_TO:
            ax.set_xscale("log", base=2)
            ax.minorticks_off()
        if len(levels) <= MOST_TICKS or not numeric:
            texts = [labels.get(str(v), str(v)) if x == "tuning" else level_text(v) for v in levels]
            ax.set_xticks(ticks, texts)
            if max(map(len, texts)) * len(texts) > MOST_TICKS * 6:
                ax.tick_params(axis="x", rotation=45)
        ax.set_xlabel(any_factors.unit_of(x))
        title = any_factors.at_text(at, labels)
        finish_axes(ax, part, y, study, title)
        if hue:
            line_labels.label_lines(ax)
    alt = f"Line chart of {axis_label(part, y, study)} over {any_factors.unit_of(x)}"
    if hue:
        alt += f", a line for each {any_factors.unit_of(hue)}"
    if title:
        alt += f", at {title}"
    return describe(ax, f"{alt}. {'; '.join(words)}.", caption_of_lines(part, study, y))
