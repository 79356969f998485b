"""Cells over any factor, with lines for another one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import factors, printed
from netlab.analysis.cells import disturbed
from netlab.charts.bounds import LINEAR_UP_TO, hollow_points, line_with_bars
from netlab.charts.cells import QUANTITIES, SIZE_IN, axis_label, bus, caption, ceiling_of
from netlab.charts.chart import describe
from netlab.charts.labels import label_lines
from netlab.charts.palette import level_styles
from netlab.charts.theme import theme
from netlab.errors import BadInput
from netlab.study import Study
from netlab.study.factors import level_text

MOST_TICKS = 12
"""Levels of an axis that all get a tick."""


def over_factor(
    cells: pd.DataFrame,
    x: str,
    hue: str = "",
    *,
    at: Mapping[str, object] | None = None,
    y: str = "goodput_MBps",
    study: Study | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw cells over one factor, a line for each level of another."""
    if y not in QUANTITIES:
        raise BadInput(
            f"choose from {', '.join(QUANTITIES)}", key="y", value=y, code="E-CHARTS-009"
        )
    part = factors.of_two(cells, x, hue, at, study)
    levels = factors.ordered(x, part[x], study)
    lines = factors.ordered(hue, part[hue], study) if hue else [None]
    labels = printed.tuning_labels(part, study)
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in levels)
    places = {level: float(level) if numeric else float(i) for i, level in enumerate(levels)}
    styles = level_styles(hue, lines)
    words = []
    with theme() if ax is None else nullcontext():
        if ax is None:
            _, ax = plt.subplots(figsize=SIZE_IN)
        for level in lines:
            line = part if level is None else part[part[hue] == level]
            label = "" if level is None else factors.level_label(hue, level, labels)
            words.append(_line(ax, line, x, y, places, label, styles[level]))
        _axis(ax, x, levels, places, labels, numeric=numeric)
        ax.set_ylabel(axis_label(part, y, study))
        bus(ax, part, y, study)
        ax.set_ylim(bottom=0)
        title = _title(at or {}, labels)
        ax.set_title(title)
        if hue:
            label_lines(ax)
    alt = f"Line chart of {axis_label(part, y, study)} over {factors.unit_of(x)}"
    if hue:
        alt += f", a line for each {factors.unit_of(hue)}"
    if title:
        alt += f", at {title}"
    return describe(ax, f"{alt}. {'; '.join(filter(None, words))}.", caption(part, study))


def _title(at: Mapping[str, object], labels: Mapping[str, str]) -> str:
    return ", ".join(
        factors.level_label(name, level, labels)
        for name, level in at.items()
        if not isinstance(level, list | tuple)
    )


def _line(
    ax: Axes,
    line: pd.DataFrame,
    x: str,
    y: str,
    places: Mapping[object, float],
    label: str,
    style: dict,
) -> str:
    """Draw the cells of one line that have a value; return its range in words."""
    line = line.assign(place=[places[level] for level in line[x]]).sort_values("place")
    hollow, alone = disturbed(line, y), line[y].isna().all()
    hollow_points(ax, line["place"], hollow, label=label, style=style, alone=alone)
    line = line[line[y].notna()]
    if line.empty:
        return f"{label or 'the line'}: no valid cell"
    values = line[y].to_numpy(dtype=float)
    low, high, _ = QUANTITIES[y]
    line_with_bars(
        *(ax, line["place"], values, (line[low], line[high])),
        label=label,
        style=style,
        ceiling=ceiling_of(line, y),
    )
    text = f"{printed.number(values.min())} to {printed.number(values.max())}"
    return f"{label}: {text}" if label else text


def _axis(
    ax: Axes,
    x: str,
    levels: list,
    places: Mapping[object, float],
    labels: Mapping[str, str],
    *,
    numeric: bool,
) -> None:
    ticks = [places[level] for level in levels]
    if numeric and ticks[0] > 0 and ticks[-1] / ticks[0] > LINEAR_UP_TO:
        ax.set_xscale("log", base=2)
        ax.minorticks_off()
    if len(levels) <= MOST_TICKS or not numeric:
        texts = [labels.get(str(v), str(v)) if x == "tuning" else level_text(v) for v in levels]
        ax.set_xticks(ticks, texts)
        longest = max(map(len, texts))
        if longest * len(texts) > MOST_TICKS * 6:
            ax.tick_params(axis="x", rotation=45)
    ax.set_xlabel(factors.unit_of(x))
