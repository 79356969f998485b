"""Views of a study of any factors: one row a cell, named by the levels that vary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import any_factors, cell_texts
from netlab.analysis.cells import CELL_KEYS, valid
from netlab.charts import drawn_numbers, looks
from netlab.charts.chart import describe
from netlab.charts.forest import name_rows
from netlab.study import Study
from netlab.units import arrows, plain

MOST_ROWS = 40
"""Cells of one chart; a study with more has several."""

ROW_IN = 0.27


SPREAD, JITTER = 0.26, 0.16
"""Half the height or width that the dots of one row or position are spread over."""

REPEATS = ("run_id", "flags", "goodput_MBps", "burst_MBps", "sustained_MBps")
"""Columns of runs that charts of every repeat need besides those of their design."""

MOST_DOTS = 2_000
"""Runs of a chart that have a dot each; of more, each cell has its median and a bar."""

REPEATS_CAPTION = "One dot a run, a cross where it is flagged; lines: medians."
REACH = (5, 50, 95)
RANGES_CAPTION = "Medians of the valid runs; bars: from the 5th to the 95th percentile."
BURST_CAPTION = "Dotted: from the burst of an unsteady run to what it sustained."


COST_CAPTION = "Median of the rounds; bars from the least to the greatest."


def row_labels(frame: pd.DataFrame, study: Study) -> dict[tuple, str]:
    """Name each cell of a group by the levels that differ between its cells."""
    tunings = cell_texts.tuning_labels(frame, study)
    levels = {}
    for key in frame[list(CELL_KEYS)].drop_duplicates().itertuples(index=False, name=None):
        _, tuning, mtu_B, streams, factors = key
        levels[key] = {
            "tuning": tunings[tuning],
            "mtu_B": f"{mtu_B} B",
            "streams": cell_texts.stream_label(int(streams)),
            **{
                n: any_factors.level_label(n, one, {})
                for n, one in any_factors.levels_of(factors).items()
            },
        }
    names = dict.fromkeys(name for own in levels.values() for name in own)
    vary = [name for name in names if len({own.get(name) for own in levels.values()}) > 1]
    return {
        key: ", ".join(own[name] for name in vary if name in own) or ", ".join(own.values())
        for key, own in levels.items()
    }


def in_parts(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Rows of at most :data:`MOST_ROWS` cells at a time."""
    keys = frame[list(CELL_KEYS)].drop_duplicates()
    for start in range(0, len(keys), MOST_ROWS):
        yield frame.merge(keys.iloc[start : start + MOST_ROWS], on=list(CELL_KEYS))


@looks.theme()
def repeats(runs: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw every repeat as a dot in the row of its cell; a flagged run is a cross."""
    ax, rows = _rows(runs, labels, ax)
    style, words = {**looks.other_style(0), "linestyle": "none", "markersize": 4}, []
    draw = draw_dots if len(runs) <= MOST_DOTS else draw_range
    for row, (label, cell) in enumerate(rows):
        values = draw(ax, cell, row, style, label)
        text = (
            f"median {plain(np.median(values), '.4g')} of {len(values)}"
            if len(values)
            else "no valid run"
        )
        words.append(f"{label}: {text}{unsteady_text(cell)}")
    ax.set(xlabel="goodput, MB/s", xlim=(0, None))
    alt = f"{drawn_runs(runs)}, MB/s, one row a cell. {'; '.join(words)}."
    return describe(ax, alt, repeats_caption(runs))


def draw_dots(
    ax: Axes, cell: pd.DataFrame, at: float, style: dict, name: str, *, upright: bool = False
) -> np.ndarray:
    """Draw the runs of a cell around a place, and a line at their median; return valid values."""
    spread, half = (JITTER / 2, JITTER) if upright else (SPREAD, SPREAD + 0.1)
    plot = (lambda y, x, **style: ax.plot(x, y, **style)) if upright else ax.plot
    places = at + spread * np.linspace(-1, 1, len(cell)) * (len(cell) > 1)
    values, good = cell["goodput_MBps"].to_numpy(dtype=float), valid_runs(cell)
    plot(values[good], places[good], **style, label=name)
    if not good.all():
        crosses = {**style, "marker": "x", "markeredgecolor": style["color"]}
        plot(values[~good], places[~good], **crosses, label="_flagged")
    for (burst, after), place in zip(_bursts(cell).to_numpy(), places, strict=True):
        if not np.isnan(after):
            plot([burst, after], [place, place], **{**style, "linestyle": ":", "marker": ""})
            plot([after], [place], **{**style, "marker": "v"}, label="_sustained")
    if good.any():
        median, line = np.median(values[good]), {"color": style["color"], "linewidth": 1}
        plot([median, median], [at - half, at + half], **line, label="_median")
    return values[good]


def draw_range(
    ax: Axes, cell: pd.DataFrame, at: float, style: dict, name: str, *, upright: bool = False
) -> np.ndarray:
    """Draw the median of the valid runs of a cell and a bar over most; return valid values."""
    values = cell["goodput_MBps"].to_numpy(dtype=float)[valid_runs(cell)]
    if len(values):
        low, middle, high = np.percentile(values, REACH)
        ends, style = [[middle - low], [high - middle]], {**style, "capsize": 2, "elinewidth": 1}
        if upright:
            bars = ax.errorbar([at], [middle], yerr=ends, label=name, **style)
        else:
            bars = ax.errorbar([middle], [at], xerr=ends, label=name, **style)
        drawn_numbers.keep_interval(bars, [low], [high])
    return values


def drawn_runs(runs: pd.DataFrame) -> str:
    return f"{'Dots' if len(runs) <= MOST_DOTS else 'Medians'} of the goodput of every run"


def _bursts(runs: pd.DataFrame) -> pd.DataFrame:
    """Rates before and after the step of each unsteady run; a frame of one's own may lack them."""
    return runs.reindex(columns=["burst_MBps", "sustained_MBps"]).astype(float)


def repeats_caption(runs: pd.DataFrame) -> str:
    if len(runs) > MOST_DOTS:
        return RANGES_CAPTION
    any_burst = _bursts(runs)["sustained_MBps"].notna().any()
    return f"{REPEATS_CAPTION} {BURST_CAPTION}" if any_burst else REPEATS_CAPTION


def unsteady_text(runs: pd.DataFrame) -> str:
    after = _bursts(runs)["sustained_MBps"].dropna()
    then = f"; unsteady: {len(after)}, a burst, then {plain(after.median(), '.4g')}"
    return then if len(after) else ""


def valid_runs(runs: pd.DataFrame) -> np.ndarray:
    return runs["run_id"].isin(valid(runs)["run_id"]).to_numpy()


@looks.theme()
def cost(frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw CPU seconds a GB of payload, one row a cell."""
    ax, rows = _rows(frame, labels, ax)
    style, words = {**looks.other_style(0), "linestyle": "none"}, []
    for row, (label, cell) in enumerate(rows):
        (one,) = cell.itertuples()
        ax.plot([one.low, one.high], [row, row], color=style["color"], linewidth=1.2, label="_bar")
        ax.plot([one.cpu_s_per_GB], [row], **style, label=label)
        words.append(f"{label}: {plain(one.cpu_s_per_GB, '.3g')}")
    ax.set(xlabel="CPU time, s/GB", xlim=(0, None))
    alt = f"Dots of the CPU seconds a GB of payload, one row a cell. {'; '.join(words)}."
    return describe(ax, alt, COST_CAPTION)


def _rows(
    frame: pd.DataFrame, labels: Mapping[tuple, str], ax: Axes | None
) -> tuple[Axes, list[tuple[str, pd.DataFrame]]]:
    """Axes with a row a cell, and the name and rows of each."""
    rows = [(labels[key], cell) for key, cell in frame.groupby(list(CELL_KEYS), sort=False)]
    ax = ax or looks.new_axes((6.4, 1.1 + ROW_IN * len(rows)))
    name_rows(ax, [label for label, _ in rows])
    ax.set_title(arrows(str(frame["group"].iloc[0])))
    return ax, rows
