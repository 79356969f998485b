"""Views of a study of any factors: one row a cell, named by the levels that vary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import printed
from netlab.analysis.cells import CELL_KEYS, valid
from netlab.analysis.factors import levels_of
from netlab.charts.chart import describe
from netlab.charts.palette import other_style
from netlab.charts.theme import new_axes, theme
from netlab.study import Study
from netlab.study.factors import level_text
from netlab.units import arrows

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
    ax.set_xlabel("goodput, MB/s")
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
    ax.set_xlabel("CPU time, s/GB")
    alt = f"Dots of the CPU seconds a GB of payload, one row a cell. {'; '.join(words)}."
    return describe(ax, alt, "Median of the rounds; bars from the least to the greatest.")


def _cells(frame: pd.DataFrame) -> Iterator[tuple[tuple, pd.DataFrame]]:
    yield from frame.groupby(list(CELL_KEYS), sort=False)


def _axes(frame: pd.DataFrame, labels: Mapping[tuple, str], ax: Axes | None) -> Axes:
    rows = [labels[key] for key, _ in _cells(frame)]
    ax = ax or new_axes((6.4, 1.1 + ROW_IN * len(rows)))
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    ax.set_title(arrows(str(frame["group"].iloc[0])))
    return ax
