"""Charts of a measured study: goodput over streams, drift over the run order, overhead."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from netlab.analysis import cell_texts, printed
from netlab.analysis.cells import CELL_KEYS, disturbed, empty, valid
from netlab.analysis.conditions import OVERHEAD_LIMIT_S, outside_s
from netlab.charts import axis_bounds, line_labels, looks
from netlab.charts.cell_rows import MOST_DOTS, RANGES_CAPTION, REACH
from netlab.charts.cells import HOLLOW, cell_line
from netlab.charts.chart import Panels, describe
from netlab.study import Study
from netlab.units import arrows, listed

HEADROOM = 1.12
CLIP_ABOVE_MEAN = 1.25
"""Largest stretch of the axis by an interval, as a factor of the highest mean. Wider intervals are
cut off, so that one cell with two different values does not flatten all others."""


def _top(part: pd.DataFrame) -> float:
    means = part["goodput_MBps"].fillna(disturbed(part)).max()
    bus = part["bus_MBps"].max()
    highest = min(part["high_MBps"].fillna(0).max(), CLIP_ABOVE_MEAN * means)
    heights = [v for v in (means, bus, highest) if not math.isnan(v)]
    return HEADROOM * max(heights, default=1.0) or 1.0


def _draw(ax: Axes, part: pd.DataFrame, styles: dict[int, dict], top: float) -> None:
    for mtu_B, line in part.assign(place=part["streams"]).groupby("mtu_B"):
        name = f"MTU {printed.mtu_text(line)}"
        cell_line(ax, line, "goodput_MBps", name, styles[mtu_B], gaps=True)
    axis_bounds.stream_axis(ax, sorted(part["streams"].unique()))
    ax.set_ylim(0, top)


def _ceiling(
    ax: Axes, part: pd.DataFrame, study: Study | None, *, reading: bool, named: bool = True
) -> None:
    """Draw the bus as a line, and per cent of it as a second scale on the right."""
    bus_MBps, name = _bus(part), printed.bus_name(part, study)
    axis_bounds.ceiling_line(
        ax, bus_MBps, f"{name}, {cell_texts.number(bus_MBps)} MB/s", written=named
    )
    if reading and not math.isnan(bus_MBps):
        scales = (lambda v: 100 * v / bus_MBps, lambda p: p * bus_MBps / 100)
        ax.secondary_yaxis("right", functions=scales).set_ylabel(f"% of {name}")


def _bus(part: pd.DataFrame) -> float:
    return float(part["bus_MBps"].max())


def _words(part: pd.DataFrame, study: Study | None, of_bus: bool = False) -> str:

    def value(row: Any) -> str:
        if not math.isnan(row.goodput_MBps):
            return f"{cell_texts.number(row.goodput_MBps)} with {row.streams}"
        if row.disturbed:
            return f"{cell_texts.number(row.disturbed_MBps)}, flagged, with {row.streams}"
        return f"nothing valid with {row.streams}"

    lines = "; ".join(
        f"{printed.mtu_text(line)}: "
        f"{', '.join(map(value, line.sort_values('streams').itertuples()))}"
        for _, line in part.groupby("mtu_B")
    )
    quantity = "Per cent of one host's bus" if of_bus else "MB/s"
    words = f"{quantity} by number of streams. {lines}."
    if of_bus or math.isnan(bus := _bus(part)):
        return words
    name = printed.bus_name(part, study).capitalize()
    return f"{words} {name} is {cell_texts.number(bus)} MB/s."


def _caption(part: pd.DataFrame, study: Study | None) -> str:
    level = study.confidence if study is not None else 0.95
    notes = printed.interval_notes(part, level, "bars")
    bus = part["bus_MBps"]
    if ((part["high_MBps"] > bus) & (part["goodput_MBps"] <= bus)).any():
        notes.append("Some are cut at the bus.")
    elif (part["high_MBps"] > _top(part)).any():
        notes.append("Some run off the chart.")
    if printed.both_ways(part, study):
        notes.append(f"{printed.BOTH_WAYS.capitalize()}.")
    notes += printed.cell_notes(part, HOLLOW)
    if missing := int(empty(part).sum()):
        notes.append(f"Empty cells: {missing}.")
    return " ".join(notes)


@looks.theme()
def panels(cells: pd.DataFrame, group: str, *, study: Study | None = None) -> Panels:
    """Draw one group over the number of streams, a panel a tuning, a line an MTU."""
    whole = printed.of_group(cells, group)
    tunings = cell_texts.tuning_labels(whole, study)
    grid: dict[str, Any] = {"squeeze": False, "sharex": True, "sharey": True}
    size = (looks.width_of_panels(len(tunings), 2.75), 3.2)
    fig, axes = plt.subplots(1, len(tunings), figsize=size, **grid)
    styles, top, words = looks.mtu_styles(cells["mtu_B"]), _top(whole), []
    for i, (ax, (tuning, label)) in enumerate(zip(axes[0], tunings.items(), strict=True)):
        part = whole[whole["tuning"] == tuning]
        _draw(ax, part, styles, top)
        _ceiling(ax, part, study, reading=i == len(tunings) - 1, named=i == 0)
        ax.set_title(label)
        words.append(f"{label}: {_words(part, study)}")
    both = ", both directions" if whole["direction"].iloc[0] == "<->" else ""
    axes[0][0].set_ylabel(f"goodput{both}, MB/s")
    fig.suptitle(printed.caption(cells, group), x=0.02, ha="left", fontweight="bold", fontsize=11)
    mtus = [printed.mtu_text(line) for _, line in whole.groupby(["tuning", "mtu_B"])]
    names = {f"MTU {mtu}": mtu for mtu in mtus}
    for i, ax in enumerate(axes[0][::-1]):  # the last has the longest names; all share its axis
        line_labels.label_lines(ax, names, size_pt=8.5, inside=True, laid_out=i > 0)
    alt = f"Line charts of goodput, {group}, one a tuning. {' '.join(words)}"
    return Panels(describe(fig, alt, _caption(whole, study)), axes)


MOST_COLUMNS = 6
"""Panels in a row of the whole study, as long as its columns are groups."""

TITLE_PT = 8.5

PUBLISHED: dict[str, Any] = {"linestyle": "none", "marker": "_", "ms": 11, "mew": 1.6}
"""Marks of published values among measured lines."""


@dataclass(frozen=True)
class PanelPlace:
    """Panel of a group and a tuning: row, column, and the words above it and at its left."""

    y: int
    x: int
    group: str
    tuning: str
    head: str
    side: str


def _places(groups: Mapping[str, str], tunings: Mapping[str, str]) -> list[PanelPlace]:
    """Panels of all groups and tunings, which have the given labels, in as few rows as they need.

    Columns are groups, or tunings where there are more of them or many groups. Groups that would
    stand in many rows then stand beside each other instead, as many in each band of rows.
    """
    of_groups = len(tunings) <= len(groups) <= MOST_COLUMNS
    across, down = (groups, tunings) if of_groups else (tunings, groups)
    bands = math.ceil(len(groups) / MOST_COLUMNS)
    if bands * len(tunings) < len(down):
        across, down, of_groups = groups, tunings, True
    else:
        bands = 1
    in_band = math.ceil(len(across) / bands)
    places = []
    for (number, column), (row, one) in product(enumerate(across), enumerate(down)):
        band, x = divmod(number, in_band)
        group, tuning = (column, one) if of_groups else (one, column)
        head = across[column] if row == 0 else ""
        side = down[one] if x == 0 else ""
        places.append(PanelPlace(band * len(down) + row, x, group, tuning, head, side))
    return sorted(places, key=lambda place: (place.y, place.x))


@looks.theme()
def whole_panels(
    cells: pd.DataFrame, then: pd.DataFrame | None = None, *, study: Study | None = None
) -> Panels:
    """Draw all groups and tunings on one scale, a panel each, beside the published values.

    The scale is per cent of one host's bus, also for both directions together. Published and
    measured are then the same quantity, although the bus of 2003 was shared by both directions
    and a measured one may carry each of them whole.
    """
    of_bus, buses = bool(cells["bus_MBps"].notna().all()), []
    if of_bus:
        rates = [name for name in cells if name.endswith("_MBps")]
        one_MBps = printed.one_bus_MBps(cells, study)
        buses = _buses(cells.assign(one_MBps=one_MBps), then, study)
        percent = cells[rates].div(one_MBps, axis=0) * 100
        cells = cells.assign(**{name: percent[name] for name in rates})
    groups = {name: arrows(name) for name in printed.group_names(cells)}
    tunings = cell_texts.tuning_labels(cells, study)
    places = _places(groups, tunings)
    columns, rows = (1 + max(getattr(place, at) for place in places) for at in "xy")
    doubled = of_bus and cells["bus_MBps"].max() > 150
    width = looks.width_of_panels(columns, 1.75)
    letters = int((width - looks.FRAME_IN) / columns * 72 / (TITLE_PT * line_labels.GLYPH))
    size = (width, 0.9 + (1.75 if doubled else 1.3) * rows)
    grid: dict[str, Any] = {"squeeze": False, "sharex": True, "sharey": True}
    fig, axes = plt.subplots(rows, columns, figsize=size, **grid)
    styles, top, words = looks.mtu_styles(cells["mtu_B"]), _top(cells), []
    for unused in set(np.ndindex(axes.shape)) - {(place.y, place.x) for place in places}:
        axes[unused].set_axis_off()
    there = set(cells[["group", "tuning"]].drop_duplicates().itertuples(index=False, name=None))
    lowest = {at.x: at.y for at in places if (at.group, at.tuning) in there}
    for place in places:
        ax, group, tuning = axes[place.y][place.x], place.group, place.tuning
        part = cells[(cells["group"] == group) & (cells["tuning"] == tuning)]
        if part.empty:
            ax.set_axis_off()
        else:
            _draw(ax, part, styles, top)
            axis_bounds.ceiling_line(ax, _bus(part), "bus", written=False)
            words.append(f"{groups[group]}, {tunings[tuning]}, {_words(part, study, of_bus)}")
        if then is not None and of_bus:
            old = then[(then["group"] == group) & (then["tuning"] == tuning)]
            for mtu_B, points in old.groupby("mtu_B"):
                colour = {"color": styles[mtu_B]["color"]}
                name = f"MTU {mtu_B} B, published"
                ax.plot(points["streams"], points["then_percent"], label=name, **PUBLISHED | colour)
        ends = place.y == lowest.get(place.x)
        ax.set_xlabel("streams" if ends else "")
        ax.tick_params(labelbottom=ends)
        ax.set_title(textwrap.fill(place.head, letters), fontsize=TITLE_PT)
        if place.side:
            ax.set_ylabel(place.side, fontsize=9)
    fig.supylabel("% of one host's bus" if of_bus else "goodput, MB/s", fontsize=9)
    marks = [Line2D([], [], label=f"MTU {mtu_B} B", **styles[mtu_B]) for mtu_B in styles]
    if of_bus:
        bus: dict[str, Any] = {"color": looks.CEILING_COLOUR, "linestyle": looks.CEILING_DASH}
        ceilings = cells["bus_MBps"].round(6).nunique()
        name = "bus" if ceilings == 1 else "bus, twice that for both directions"
        marks.append(Line2D([], [], label=name, **bus))
        if then is not None and len(then):
            marks.append(Line2D([], [], label="published", color=looks.CEILING_COLOUR, **PUBLISHED))
    fig.legend(handles=marks, ncols=len(marks), loc="outside lower center", fontsize=8.5)
    alt = f"Line charts of the whole study, one scale. {' '.join(words)}"
    return Panels(describe(fig, alt, " ".join([_caption(cells, study), *buses])), axes)


def _buses(cells: pd.DataFrame, then: pd.DataFrame | None, study: Study | None) -> list[str]:
    """Sentences that name the bus which the shares of each group are of, then and now."""
    published = {} if then is None else then.groupby("group")["then_ceiling_MBps"].max().to_dict()
    names: dict[str, list[str]] = {}
    for group, part in cells.groupby("group", sort=False):
        old = f", published {cell_texts.number(published[group])}" if group in published else ""
        bus = f"{cell_texts.number(part['one_MBps'].iloc[0])} MB/s{old}"
        names.setdefault(bus, []).append(arrows(str(group)))
    notes = [f"One bus: {'; '.join(f'{b} ({listed(g)})' for b, g in names.items())}."]
    parts = [part for _, part in cells.groupby("group")]
    if any(printed.both_ways(part, study) for part in parts):
        notes.append(
            "Both directions are added; measured, each has a whole bus: at most 200 %"
            + ("; in 2003 they shared one." if published else ".")
        )
    faster = {
        round(float(part["one_MBps"].iloc[0]) / published[part["group"].iloc[0]], 2)
        for part in parts
        if part["group"].iloc[0] in published
    }
    modelled = study is not None and all(study.in_lab(path) for path in cells["path"].unique())
    if modelled and max(faster, default=1) > 1:
        times = listed([f"{ratio:g}" for ratio in sorted(faster)])
        notes.append(
            f"The modelled bus runs at {times} times the clock of 2003, "
            "since today's processors fill a bus of 2003 in every cell."
        )
    return notes


@looks.theme()
def drift(runs: pd.DataFrame, *, study: Study | None = None, ax: Axes | None = None) -> Axes:
    """Draw each run's deviation from its cell's mean in the randomised order of measurement."""
    frame = valid(runs).sort_values("started_at")
    of_cell = frame.groupby(list(CELL_KEYS))["goodput_MBps"]
    mean = of_cell.transform("mean")
    frame = frame.assign(deviation=100 * (frame["goodput_MBps"] / mean - 1))
    frame = frame[(of_cell.transform("size") > 1) & (mean > 0)]
    frame = frame.assign(position=range(len(frame)))
    ax = ax or looks.new_axes(looks.CHART_SIZE_IN)
    for i, (tuning, label) in enumerate(cell_texts.tuning_labels(frame, study).items()):
        part = frame[frame["tuning"] == tuning]
        style = looks.second_style(i) | {"linestyle": "none", "markersize": 4, "alpha": 0.75}
        if len(frame) <= MOST_DOTS:
            ax.plot(part["position"], part["deviation"], label=label, **style)
        else:
            _ranges(ax, part, math.ceil(len(frame) / STRETCHES), label, style)
    width = max(5, len(frame) // 20)
    if len(frame) >= width:
        smooth = frame["deviation"].rolling(width, center=True, min_periods=width // 2).median()
        line: dict[str, Any] = {"color": looks.MEDIAN_COLOUR, "linewidth": 1.6}
        drawn = slice(None, None, math.ceil(len(frame) / MOST_DOTS))
        ax.plot(frame["position"][drawn], smooth[drawn], label="running median", **line)
    ax.axhline(0, color=looks.CEILING_COLOUR, linewidth=1, zorder=1)
    ax.set(xlabel="position in the order of measuring", title="Drift over the study")
    ax.set_ylabel("deviation from the cell's mean, %")
    line_labels.legend_below(ax, ncols=4)
    if frame.empty:
        return describe(ax, "Empty chart: no cell has two valid runs, so drift cannot be seen.")
    half = len(frame) // 2
    first, second = frame["deviation"].iloc[:half].mean(), frame["deviation"].iloc[half:].mean()
    alt = (
        f"Scatter of {len(frame)} runs' deviation from their cell's mean over the run order, "
        f"from {frame['deviation'].min():.1f} to {frame['deviation'].max():.1f} %; the first half "
        f"of the study averages {first:+.2f} %, the second {second:+.2f} %."
    )
    return describe(ax, alt, "" if len(frame) <= MOST_DOTS else RANGES_CAPTION)


STRETCHES = 60
"""Parts of a campaign of very many runs; each has its median and a bar."""


def _ranges(ax: Axes, runs: pd.DataFrame, length: int, label: str, style: dict) -> None:
    """Draw the median deviation of the runs of each stretch, and a bar over most of them."""
    of_stretch = runs.groupby(runs["position"] // length)
    low, middle, high = (
        of_stretch["deviation"].quantile(percent / 100).to_numpy(dtype=float) for percent in REACH
    )
    ax.errorbar(
        of_stretch["position"].mean().to_numpy(),
        middle,
        yerr=[middle - low, high - middle],
        label=label,
        elinewidth=1,
        **style,
    )


@looks.theme()
def overhead(runs: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the time of each run outside warm-up and window, with the limit."""
    took = outside_s(runs).dropna()
    ax = ax or looks.new_axes((looks.CHART_SIZE_IN[0], 2.6))
    if len(took):
        reach = (0, max(float(took.max()), OVERHEAD_LIMIT_S) * 1.05)
        ax.hist(took, bins=60, range=reach, color=looks.COUNT_COLOUR, alpha=0.75, linewidth=0)
    ax.axvline(OVERHEAD_LIMIT_S, color=looks.CEILING_COLOUR, linestyle=(0, (1, 1)))
    ax.annotate(f"limit {OVERHEAD_LIMIT_S:g} s", xy=(OVERHEAD_LIMIT_S, 1),
                xycoords=("data", "axes fraction"), xytext=(3, -9), textcoords="offset points",
                fontsize=8, color=looks.CEILING_COLOUR)  # fmt: skip
    ax.set_xlim(left=0)
    ax.set(xlabel="time outside warm-up and window, s", ylabel="runs", title="Overhead of a run")
    if not len(took):
        return describe(ax, "Empty chart: no run recorded its overhead.")
    alt = (
        f"Histogram of the overhead of {len(took)} runs: median {took.median():.3f} s, "
        f"largest {took.max():.3f} s, limit {OVERHEAD_LIMIT_S:g} s."
    )
    return describe(ax, alt)


MOST_NAMED = 24
"""Campaigns that have a name and words each; of more, the table beside the chart has them."""


@looks.theme()
def trend(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the level of goodput over campaigns, the first at 1, and mark the steps found."""
    ax = ax or looks.new_axes((6.4, 3.2))
    places = np.arange(len(frame))
    style = looks.other_style(0)
    ax.plot(places, frame["level"], **{**style, "linestyle": "none"}, label="campaign")
    steps = frame["step"].to_numpy(dtype=bool)
    if steps.any():
        marks = {**looks.other_style(1), "linestyle": "none", "markersize": 9}
        ax.plot(places[steps], frame.loc[steps, "level"], **marks, label="step")
    few = len(frame) <= MOST_NAMED
    for place, row in zip(places[steps], frame[steps].itertuples(), strict=True) if few else ():
        ax.annotate(f"×{row.ratio:.2f}", (place, row.level), xytext=(8, 6),
                    textcoords="offset points", fontsize=9)  # fmt: skip
    ax.axhline(1, color=looks.CEILING_COLOUR, linewidth=1, zorder=1)
    named = places[:: math.ceil(len(frame) / MOST_NAMED)]
    names = [campaign[:13] for campaign in frame["campaign"].iloc[named]]
    ax.set_xticks(named, names, rotation=20)
    ax.set(ylabel="goodput, first campaign = 1", title="Level of goodput over campaigns")
    line_labels.legend_below(ax, ncols=2)
    labelled = frame if few else frame.iloc[[0, -1]]
    words = "; ".join(
        f"{row.campaign}: {row.level:.3f}" + (" (a step)" if row.step else "")
        for row in labelled.itertuples()
    )
    if not few:
        words += f"; {len(frame)} campaigns, {int(steps.sum())} steps"
    return describe(ax, f"Dots of the level of goodput over campaigns. {words}.")
