"""Cells over the number of streams, over any factor, or one row each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import printed
from netlab.analysis.cells import CELL_KEYS, disturbed, valid
from netlab.analysis.printed import levels_of
from netlab.charts.chart import describe
from netlab.charts.forest import name_rows
from netlab.charts.labels import (
    LINEAR_UP_TO,
    ceiling_line,
    hollow_points,
    label_lines,
    line_with_bars,
    stream_axis,
)
from netlab.charts.theme import (
    level_styles,
    mtu_styles,
    new_axes,
    other_style,
    theme,
    tuning_dashes,
)
from netlab.errors import require
from netlab.study import Study
from netlab.study.factors import level_text
from netlab.units import arrows

# Cells of one group over the number of streams, on one set of axes.

QUANTITIES = {
    "goodput_MBps": ("low_MBps", "high_MBps", "goodput, MB/s"),
    "percent_of_bus": ("percent_low", "percent_high", "goodput, % of bus"),
}
"""Column of the cells -> ends of its interval, and the axis label."""

SIZE_IN = (7.2, 4.2)
HOLLOW = "Hollow and grey"
HEADROOM = 1.1
"""Room above the bus for its name, as a factor."""

IN_REACH = 3
"""A bus above this multiple of the highest cell is not drawn: it would flatten the lines."""


def over_streams(
    cells: pd.DataFrame,
    group: str,
    *,
    y: str = "goodput_MBps",
    tuning: str | None = None,
    study: Study | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cells of a group over streams: a colour and marker an MTU, a dash a tuning."""
    require(y, QUANTITIES, key="y", code="E-CHARTS-003")
    part = printed.of_group(cells, group)
    labels = printed.tuning_labels(part, study)
    chosen, title = list(labels), group
    if tuning is not None:
        require(tuning, labels, key="tuning", code="E-CHARTS-004")
        chosen, title = [tuning], f"{group}: {labels[tuning]}"
    with theme() if ax is None else nullcontext():
        ax = ax or new_axes(SIZE_IN)
        styles, dashes = mtu_styles(cells["mtu_B"]), tuning_dashes(list(labels))
        words = []
        for name in chosen:
            for mtu_B, line in part[part["tuning"] == name].groupby("mtu_B"):
                style = styles[int(mtu_B)] | {"linestyle": dashes[name]}
                words.append(_line(ax, line, y, f"{labels[name]}, {mtu_B} B", style))
        stream_axis(ax, sorted(part["streams"].unique()))
        _finish(ax, part, y, study, title)
        label_lines(ax)
    alt = f"Line chart of {axis_label(part, y, study)} over TCP streams, {group}"
    return describe(ax, f"{alt}. {'; '.join(words)}.", caption(part, study))


def _finish(ax: Axes, part: pd.DataFrame, y: str, study: Study | None, title: str) -> None:
    """Title, axis of `y` and bus of a chart of cells."""
    ax.set(ylabel=axis_label(part, y, study), title=arrows(title))
    bus(ax, part, y, study)
    ax.set_ylim(bottom=0)


def _line(ax: Axes, line: pd.DataFrame, y: str, label: str, style: dict) -> str:
    """Draw the cells of one tuning and MTU that have a value; return them in words."""
    line = _drawn(ax, line.assign(place=line["streams"]), y, label, style)
    values = zip(line[y], line["streams"], strict=True)
    words = ", ".join(f"{printed.number(v)} with {n}" for v, n in values)
    return f"{label}: {words or 'no valid cell'}"


def _drawn(ax: Axes, line: pd.DataFrame, y: str, label: str, style: dict) -> pd.DataFrame:
    """Draw the cells of a line over their ``place``; return those that have a value."""
    line = line.sort_values("place")
    hollow, alone = disturbed(line, y), line[y].isna().all()
    hollow_points(ax, line["place"], hollow, label=label, style=style, alone=alone)
    line = line[line[y].notna()]
    if len(line):
        low, high, _ = QUANTITIES[y]
        line_with_bars(
            *(ax, line["place"], line[y], (line[low], line[high])),
            label=label,
            style=style,
            ceiling=ceiling_of(line, y),
        )
    return line


def ceiling_of(cells: pd.DataFrame, y: str) -> pd.Series:
    """The ceiling of each cell in the unit of ``y``; NaN where the bus is unknown."""
    known = cells["bus_MBps"].astype(float)
    return known.where(known.isna(), 100.0) if y == "percent_of_bus" else known


def axis_label(cells: pd.DataFrame, y: str, study: Study | None) -> str:
    """Label of the axis of ``y``: it says what the sum of both directions is a share of."""
    both = (cells["direction"] == "<->").all()
    label = "goodput, both directions together" if both else "goodput"
    buses = {printed.bus_name(part, study) for _, part in cells.groupby("group")}
    share = f"% of {buses.pop() if len(buses) == 1 else 'bus'}"
    return f"{label}, {share if y == 'percent_of_bus' else 'MB/s'}"


def caption(cells: pd.DataFrame, study: Study | None) -> str:
    """Meaning of the bars, and of a share where both directions are summed."""
    notes = printed.interval_notes(cells, study.confidence if study else 0.95, "bars")
    notes += printed.cell_notes(cells, HOLLOW)
    if printed.both_ways(cells, study):
        notes.append(f"{printed.BOTH_WAYS.capitalize()}.")
    return " ".join(notes)


def bus(ax: Axes, cells: pd.DataFrame, y: str, study: Study | None) -> None:
    """Draw the bus with its name, if all cells have the same and it is in reach of the lines."""
    if cells["bus_MBps"].nunique() != 1:
        return
    known = float(cells["bus_MBps"].max())
    name = printed.bus_name(cells, study)
    text = f"{name}, {printed.number(known)} MB/s"
    at = 100.0 if y == "percent_of_bus" else known
    if at < IN_REACH * cells[y].fillna(disturbed(cells, y)).max():
        ceiling_line(ax, at, text)
        ax.set_ylim(top=max(ax.get_ylim()[1], HEADROOM * at))


# Cells over any factor, with lines for another one.

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
    require(y, QUANTITIES, key="y", code="E-CHARTS-009")
    part = printed.of_two(cells, x, hue, at, study)
    levels = printed.ordered(x, part[x], study)
    lines = printed.ordered(hue, part[hue], study) if hue else [None]
    labels = printed.tuning_labels(part, study)
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in levels)
    places = {level: float(level) if numeric else float(i) for i, level in enumerate(levels)}
    styles = level_styles(hue, lines)
    words = []
    with theme() if ax is None else nullcontext():
        ax = ax or new_axes(SIZE_IN)
        for level in lines:
            line = part if level is None else part[part[hue] == level]
            label = "" if level is None else printed.level_label(hue, level, labels)
            words.append(_factors_line(ax, line, x, y, places, label, styles[level]))
        _axis(ax, x, levels, places, labels, numeric=numeric)
        title = printed.at_text(at or {}, labels)
        _finish(ax, part, y, study, title)
        if hue:
            label_lines(ax)
    alt = f"Line chart of {axis_label(part, y, study)} over {printed.unit_of(x)}"
    if hue:
        alt += f", a line for each {printed.unit_of(hue)}"
    if title:
        alt += f", at {title}"
    return describe(ax, f"{alt}. {'; '.join(filter(None, words))}.", caption(part, study))


def _factors_line(
    ax: Axes,
    line: pd.DataFrame,
    x: str,
    y: str,
    places: Mapping[object, float],
    label: str,
    style: dict,
) -> str:
    """Draw the cells of one line that have a value; return its range in words."""
    line = _drawn(ax, line.assign(place=[places[v] for v in line[x]]), y, label, style)
    if line.empty:
        return f"{label or 'the line'}: no valid cell"
    values = line[y].to_numpy(dtype=float)
    text = printed.reach(values)
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
    ax.set_xlabel(printed.unit_of(x))


# Views of a study of any factors: one row a cell, named by the levels that vary.

MOST_ROWS = 40
"""Cells of one chart; a study with more has several."""

ROW_IN = 0.27
SPREAD = 0.26
"""Half the height that the dots of one row are spread over."""


def row_labels(frame: pd.DataFrame, study: Study) -> dict[tuple, str]:
    """Name each cell of a group by the levels that differ between its cells."""
    tunings = printed.tuning_labels(frame, study)
    keys = frame[list(CELL_KEYS)].drop_duplicates()
    levels = {key: _levels(key, tunings) for key in keys.itertuples(index=False, name=None)}
    names = dict.fromkeys(name for found in levels.values() for name in found)
    vary = [name for name in names if len({found.get(name) for found in levels.values()}) > 1]
    return {
        key: ", ".join(found[name] for name in vary if name in found) or ", ".join(found.values())
        for key, found in levels.items()
    }


def _levels(key: tuple, tunings: Mapping[str, str]) -> dict[str, str]:
    _, tuning, mtu_B, streams, factors = key
    return {
        "tuning": tunings[tuning],
        "mtu_B": f"{mtu_B} B",
        "streams": printed.stream_label(int(streams)),
        **{name: f"{name} {level_text(level)}" for name, level in levels_of(factors).items()},
    }


def in_parts(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Rows of at most :data:`MOST_ROWS` cells at a time."""
    keys = frame[list(CELL_KEYS)].drop_duplicates()
    for start in range(0, len(keys), MOST_ROWS):
        yield frame.merge(keys.iloc[start : start + MOST_ROWS], on=list(CELL_KEYS))


@theme()
def repeats(runs: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw every repeat as a dot in the row of its cell; a flagged run is a cross."""
    ax = _axes(runs, labels, ax)
    good = set(valid(runs)["run_id"])
    style = {**other_style(0), "linestyle": "none", "markersize": 4}
    words = []
    for row, (key, cell) in enumerate(_cells(runs)):
        values = cell["goodput_MBps"].to_numpy(dtype=float)
        places = row + SPREAD * np.linspace(-1, 1, len(cell)) * (len(cell) > 1)
        usable = cell["run_id"].isin(good).to_numpy()
        ax.plot(values[usable], places[usable], **style, label=labels[key])
        if not usable.all():
            crosses = {**style, "marker": "x", "markeredgecolor": style["color"]}
            ax.plot(values[~usable], places[~usable], **crosses, label="_flagged")
        text = "no valid run"
        if usable.any():
            median = float(np.median(values[usable]))
            ends = [row - SPREAD - 0.1, row + SPREAD + 0.1]
            ax.plot([median, median], ends, color=style["color"], linewidth=1, label="_median")
            text = f"median {median:.4g} of {usable.sum()}"
        words.append(f"{labels[key]}: {text}")
    ax.set(xlabel="goodput, MB/s", xlim=(0, None))
    alt = f"Dots of the goodput of every run, MB/s, one row a cell. {'; '.join(words)}."
    return describe(ax, alt, "One dot a run, a cross where it is flagged; lines: medians.")


@theme()
def cost(frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw CPU seconds a GB of payload, one row a cell."""
    ax = _axes(frame, labels, ax)
    style = {**other_style(0), "linestyle": "none"}
    words = []
    for row, (key, cell) in enumerate(_cells(frame)):
        (one,) = cell.itertuples()
        ax.plot([one.low, one.high], [row, row], color=style["color"], linewidth=1.2, label="_bar")
        ax.plot([one.cpu_s_per_GB], [row], **style, label=labels[key])
        words.append(f"{labels[key]}: {one.cpu_s_per_GB:.3g}")
    ax.set(xlabel="CPU time, s/GB", xlim=(0, None))
    alt = f"Dots of the CPU seconds a GB of payload, one row a cell. {'; '.join(words)}."
    return describe(ax, alt, "Median of the rounds; bars from the least to the greatest.")


def _cells(frame: pd.DataFrame) -> Iterator[tuple[tuple, pd.DataFrame]]:
    yield from frame.groupby(list(CELL_KEYS), sort=False)


def _axes(frame: pd.DataFrame, labels: Mapping[tuple, str], ax: Axes | None) -> Axes:
    rows = [labels[key] for key, _ in _cells(frame)]
    ax = ax or new_axes((6.4, 1.1 + ROW_IN * len(rows)))
    name_rows(ax, rows)
    ax.set_title(arrows(str(frame["group"].iloc[0])))
    return ax
