"""Cells and their runs: over the number of streams, over any factor, or one row each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import any_factors, cell_texts, printed
from netlab.analysis.cells import CELL_KEYS, DATAGRAMS, LATENCY, OVER_TCP, disturbed, valid
from netlab.analysis.percentiles import PERCENTILES
from netlab.charts import drawing
from netlab.charts.chart import Panels, describe
from netlab.charts.forest import name_rows
from netlab.errors import require
from netlab.files import tables
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
    labels = cell_texts.tuning_labels(part, study)
    chosen, title = list(labels), group
    if tuning is not None:
        require(tuning, labels, key="tuning", code="E-CHARTS-004")
        chosen, title = [tuning], f"{group}: {labels[tuning]}"
    styles, dashes = drawing.mtu_styles(cells["mtu_B"]), drawing.tuning_dashes(list(labels))
    words = []
    with drawing.theme() if ax is None else nullcontext():
        ax = ax or drawing.new_axes(SIZE_IN)
        for name in chosen:
            for mtu_B, line in part[part["tuning"] == name].groupby("mtu_B"):
                label = f"{labels[name]}, {mtu_B} B"
                style = styles[int(mtu_B)] | {"linestyle": dashes[name]}
                line = cell_line(ax, line.assign(place=line["streams"]), y, label, style)
                words.append(f"{label}: {_with(line['streams'], line[y]) or 'no valid cell'}")
        drawing.stream_axis(ax, sorted(part["streams"].unique()))
        _finish(ax, part, y, study, title)
        drawing.label_lines(ax)
    alt = f"Line chart of {axis_label(part, y, study)} over streams, {group}"
    return describe(ax, f"{alt}. {'; '.join(words)}.", caption(part, study))


def _with(streams: pd.Series, values: Any, text: Callable[[float], str] = cell_texts.number) -> str:
    """``500 with 1, 744 with 4``."""
    return ", ".join(f"{text(v)} with {n}" for n, v in zip(streams, values, strict=True))


def _finish(ax: Axes, part: pd.DataFrame, y: str, study: Study | None, title: str) -> None:
    """Title, axis of `y`, and the bus if all cells have the same and the lines are near it."""
    ax.set(ylabel=axis_label(part, y, study), title=arrows(title))
    if part["bus_MBps"].nunique() == 1:
        bus_MBps = float(part["bus_MBps"].max())
        at = 100.0 if y == "percent_of_bus" else bus_MBps
        if at < IN_REACH * part[y].fillna(disturbed(part, y)).max():
            name = printed.bus_name(part, study)
            drawing.ceiling_line(ax, at, f"{name}, {cell_texts.number(bus_MBps)} MB/s")
            ax.set_ylim(top=max(ax.get_ylim()[1], HEADROOM * at))
    ax.set_ylim(bottom=0)


def cell_line(
    ax: Axes, line: pd.DataFrame, y: str, label: str, style: dict, *, gaps: bool = False
) -> pd.DataFrame:
    """Draw the cells of a line over their ``place``; return those that have a value."""
    line = line.sort_values("place")
    points, alone = line[line[y].notna()], line[y].isna().all()
    drawing.hollow_points(
        ax, line["place"], disturbed(line, y), label=label, style=style, alone=alone
    )
    joined = line if gaps else points
    if len(joined):
        low, high, _ = QUANTITIES[y]
        bus = joined["bus_MBps"].astype(float)
        drawing.line_with_bars(
            *(ax, joined["place"], joined[y], (joined[low], joined[high])),
            label=label,
            style=style,
            ceiling=bus.where(bus.isna(), 100.0) if y == "percent_of_bus" else bus,
        )
        scale = 100 / bus if y == "percent_of_bus" else 1.0
        ends = (scale * joined[f"within_{end}_MBps"] for end in ("low", "high"))
        drawing.strokes_within_runs(ax, joined["place"], ends, style["color"])
    return points


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
    return " ".join([*notes, *printed.cell_notes(cells, HOLLOW), *_both_note(cells, study)])


def _both_note(cells: pd.DataFrame, study: Study | None) -> list[str]:
    return [f"{printed.BOTH_WAYS.capitalize()}."] if printed.both_ways(cells, study) else []


# Cells over any factor, with lines for another one.

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
    labels, styles = cell_texts.tuning_labels(part, study), drawing.level_styles(hue, lines)
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in levels)
    places = {level: float(level) if numeric else float(i) for i, level in enumerate(levels)}
    part, words = part.assign(place=part[x].map(places)), []
    with drawing.theme() if ax is None else nullcontext():
        ax = ax or drawing.new_axes(SIZE_IN)
        for level in lines:
            line = part if level is None else part[part[hue] == level]
            label = "" if level is None else any_factors.level_label(hue, level, labels)
            line = cell_line(ax, line, y, label, styles[level])
            text = "no valid cell" if line.empty else printed.reach(line[y].to_numpy(dtype=float))
            words.append(f"{label}: {text}" if label else text)
        ticks = list(places.values())
        if numeric and ticks[0] > 0 and ticks[-1] / ticks[0] > drawing.LINEAR_UP_TO:
            ax.set_xscale("log", base=2)
            ax.minorticks_off()
        if len(levels) <= MOST_TICKS or not numeric:
            texts = [labels.get(str(v), str(v)) if x == "tuning" else level_text(v) for v in levels]
            ax.set_xticks(ticks, texts)
            if max(map(len, texts)) * len(texts) > MOST_TICKS * 6:
                ax.tick_params(axis="x", rotation=45)
        ax.set_xlabel(any_factors.unit_of(x))
        title = any_factors.at_text(at, labels)
        _finish(ax, part, y, study, title)
        if hue:
            drawing.label_lines(ax)
    alt = f"Line chart of {axis_label(part, y, study)} over {any_factors.unit_of(x)}"
    if hue:
        alt += f", a line for each {any_factors.unit_of(hue)}"
    if title:
        alt += f", at {title}"
    return describe(ax, f"{alt}. {'; '.join(words)}.", caption(part, study))


# Views of a study of any factors: one row a cell, named by the levels that vary.

MOST_ROWS = 40
"""Cells of one chart; a study with more has several."""

ROW_IN = 0.27
NAME_IN, MOST_NAMES = 0.2, 8
"""Height of a line of a legend, and the most of them in one column."""

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
LATENCY_CAPTION = "RTT within the window less RTT before the streams: medians of the rounds."
PERCENTILES_CAPTION = "Probes of all runs of a cell together, as far as there are enough."
LOSS_CAPTION = "Datagrams sent and not received, of the whole run: medians of the rounds."
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


@drawing.theme()
def repeats(runs: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw every repeat as a dot in the row of its cell; a flagged run is a cross."""
    ax, rows = _rows(runs, labels, ax)
    style, words = {**drawing.other_style(0), "linestyle": "none", "markersize": 4}, []
    draw = _dots if len(runs) <= MOST_DOTS else _range
    for row, (label, cell) in enumerate(rows):
        values = draw(ax, cell, row, style, label)
        text = f"median {np.median(values):.4g} of {len(values)}" if len(values) else "no valid run"
        words.append(f"{label}: {text}{_burst_text(cell)}")
    ax.set(xlabel="goodput, MB/s", xlim=(0, None))
    alt = f"{_drawn_runs(runs)}, MB/s, one row a cell. {'; '.join(words)}."
    return describe(ax, alt, _repeats_caption(runs))


def _dots(
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


def _range(
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
        drawing.keep_interval(bars, [low], [high])
    return values


def _drawn_runs(runs: pd.DataFrame) -> str:
    return f"{'Dots' if len(runs) <= MOST_DOTS else 'Medians'} of the goodput of every run"


def _bursts(runs: pd.DataFrame) -> pd.DataFrame:
    """Rates before and after the step of each unsteady run; a frame of one's own may lack them."""
    return runs.reindex(columns=["burst_MBps", "sustained_MBps"]).astype(float)


def _repeats_caption(runs: pd.DataFrame) -> str:
    if len(runs) > MOST_DOTS:
        return RANGES_CAPTION
    any_burst = _bursts(runs)["sustained_MBps"].notna().any()
    return f"{REPEATS_CAPTION} {BURST_CAPTION}" if any_burst else REPEATS_CAPTION


def _burst_text(runs: pd.DataFrame) -> str:
    after = _bursts(runs)["sustained_MBps"].dropna()
    then = f"; unsteady: {len(after)}, a burst, then {after.median():.4g}"
    return then if len(after) else ""


def valid_runs(runs: pd.DataFrame) -> np.ndarray:
    return runs["run_id"].isin(valid(runs)["run_id"]).to_numpy()


@drawing.theme()
def cost(frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw CPU seconds a GB of payload, one row a cell."""
    ax, rows = _rows(frame, labels, ax)
    style, words = {**drawing.other_style(0), "linestyle": "none"}, []
    for row, (label, cell) in enumerate(rows):
        (one,) = cell.itertuples()
        ax.plot([one.low, one.high], [row, row], color=style["color"], linewidth=1.2, label="_bar")
        ax.plot([one.cpu_s_per_GB], [row], **style, label=label)
        words.append(f"{label}: {one.cpu_s_per_GB:.3g}")
    ax.set(xlabel="CPU time, s/GB", xlim=(0, None))
    alt = f"Dots of the CPU seconds a GB of payload, one row a cell. {'; '.join(words)}."
    return describe(ax, alt, COST_CAPTION)


@drawing.theme()
def latency(frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw the latency that the load of each cell adds, over its goodput."""
    added_ms = frame.assign(shown=frame["added_latency_us"] / 1e3)
    return _over_goodput(added_ms, labels, ax, "added latency", "ms", LATENCY_CAPTION)


@drawing.theme()
def latency_over_tcp(
    frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None
) -> Axes:
    """Draw the latency that the load adds to a TCP connection beside it, over goodput."""
    added_us = frame["tcp_rtt_loaded_p50_us"] - frame["tcp_rtt_idle_p50_us"]
    words = ("added latency over TCP", "ms", LATENCY_CAPTION)
    return _over_goodput(frame.assign(shown=added_us / 1e3), labels, ax, *words)


@drawing.theme()
def rtt_percentiles(
    frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None
) -> Axes:
    """Draw the percentiles of the round trips of each cell beside its load, its runs together."""
    ax, words = ax or drawing.new_axes(SIZE_IN), []
    for line, (key, cell) in enumerate(frame.groupby(list(CELL_KEYS), sort=False)):
        (one,) = cell.to_dict("records")
        rtts_ms = {at: one[name] / 1e3 for name, at in PERCENTILES.items() if one[name] > 0}
        style = drawing.other_style(line)
        if one["disturbed"]:
            style |= {"color": drawing.HOLLOW_COLOUR, "markerfacecolor": "none"}
        # a nine more of the percentile is a decade
        one_in = [100 / (100 - at) for at in rtts_ms]
        ax.plot(one_in, [*rtts_ms.values()], **style, label=labels[key], clip_on=False)
        texts = (f"{rtt_ms:.3g} at {at:g} %" for at, rtt_ms in rtts_ms.items())
        words.append(f"{labels[key]}: {', '.join(texts)}")
    ax.set_xscale("log")
    ax.minorticks_off()
    reached = [at for name, at in PERCENTILES.items() if frame[name].notna().any()]
    ax.set_xticks([100 / (100 - at) for at in reached], [f"{at:g}" for at in reached])
    ax.set(xlabel="percentile", ylabel="round trip under load, ms", ylim=(0, None))
    ax.set_title(arrows(str(frame["group"].iloc[0])))
    drawing.legend_below(ax, ncols=1 + (len(frame) > MOST_NAMES))
    alt = f"Lines of round trips under load, ms, by percentile. {'; '.join(words)}."
    notes = printed.cell_notes(frame, HOLLOW)
    return describe(ax, alt, " ".join([PERCENTILES_CAPTION, *notes]))


@drawing.theme()
def loss(frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw the part of the datagrams that each cell loses, over its goodput."""
    lost_percent = frame.assign(shown=frame["lost_percent"])
    return _over_goodput(lost_percent, labels, ax, "loss of datagrams", "%", LOSS_CAPTION)


FURTHER_CHARTS = {LATENCY: latency, OVER_TCP: latency_over_tcp, DATAGRAMS: loss}


def _over_goodput(
    frame: pd.DataFrame, labels: Mapping[tuple, str], ax: Axes | None, *words_of: str
) -> Axes:
    """Draw the figure ``shown`` of each cell over its goodput, given its name, unit and caption."""
    name, unit, caption = words_of
    columns = 1 + (len(frame) > MOST_NAMES)
    height_in = SIZE_IN[1] + NAME_IN * len(frame) / columns
    ax, words = ax or drawing.new_axes((SIZE_IN[0], height_in)), []
    for at, (key, cell) in enumerate(frame.groupby(list(CELL_KEYS), sort=False)):
        (one,) = cell.itertuples()
        style = {**drawing.other_style(at), "linestyle": "none"}
        if one.disturbed:
            place = (ax, [one.disturbed_MBps], [one.shown])
            drawing.hollow_points(*place, label=labels[key], style=style, alone=True)
        else:
            ax.plot([one.goodput_MBps], [one.shown], **style, label=labels[key], clip_on=False)
        words.append(f"{labels[key]}: {one.shown:.3g} {unit} at {cell_texts.texts(cell)[0]} MB/s")
    lowered = bool((frame["shown"] < 0).any())  # a busy CPU answers sooner than an idle one
    if lowered:
        ax.axhline(0, color=drawing.HOLLOW_COLOUR, linewidth=0.8, label="_zero")
    bottom = None if lowered else 0
    ax.set(xlabel="goodput, MB/s", ylabel=f"{name}, {unit}", xlim=(0, None), ylim=(bottom, None))
    ax.set_title(arrows(str(frame["group"].iloc[0])))
    drawing.legend_below(ax, ncols=columns)
    alt = f"Dots of {name} over goodput. {'; '.join(words)}."
    return describe(ax, alt, " ".join([caption, *printed.cell_notes(frame, HOLLOW)]))


def _rows(
    frame: pd.DataFrame, labels: Mapping[tuple, str], ax: Axes | None
) -> tuple[Axes, list[tuple[str, pd.DataFrame]]]:
    """Axes with a row a cell, and the name and rows of each."""
    rows = [(labels[key], cell) for key, cell in frame.groupby(list(CELL_KEYS), sort=False)]
    ax = ax or drawing.new_axes((6.4, 1.1 + ROW_IN * len(rows)))
    name_rows(ax, [label for label, _ in rows])
    ax.set_title(arrows(str(frame["group"].iloc[0])))
    return ax, rows


# Views of a group whose cells have streams, MTU and tuning alone.

HEAT_ROW_IN = 0.36


@drawing.theme()
def ceiling(
    cells: pd.DataFrame, group: str, *, study: Study | None = None, ax: Axes | None = None
) -> Axes:
    """Heat map of one group: per cent of the bus, tuning and MTU over streams."""
    part = printed.of_group(cells, group)
    bus = "twice the bus" if printed.both_ways(part, study) else "the bus"
    labels = cell_texts.tuning_labels(part, study)
    wide = part.assign(hollow=disturbed(part, "percent_of_bus")).pivot(
        index=["tuning", "mtu_B"], columns="streams", values=["percent_of_bus", "hollow"]
    )
    wide = wide.loc[sorted(wide.index, key=lambda key: (list(labels).index(key[0]), key[1]))]
    streams = wide["hollow"].columns
    names = [f"{labels[tuning]}, {mtu_B} B" for tuning, mtu_B in wide.index]
    values, hollow = (wide[name].to_numpy(float) for name in ("percent_of_bus", "hollow"))
    ax = ax or drawing.new_axes((6.4, 1.2 + HEAT_ROW_IN * len(names)))
    drawing.heat_map(
        values,
        ax=ax,
        vmin=0,
        vmax=100,
        annot=np.array([["" if math.isnan(v) else f"{v:.0f}" for v in row] for row in values]),
        fmt="",
        linewidths=1,
        cbar_kws={"label": f"% of {bus}"},
        xticklabels=[str(n) for n in streams],
        yticklabels=names,
    )
    ax.grid(visible=False)
    for row, column in np.argwhere(~np.isnan(hollow)):  # the heat map writes on no blank field
        ax.text(column + 0.5, row + 0.5, f"{tables.HOLLOW} {hollow[row, column]:.0f}", ha="center",
                va="center", color=drawing.HOLLOW_COLOUR)  # fmt: skip
    ax.tick_params(axis="y", rotation=0, length=0)
    ax.tick_params(axis="x", length=0)
    ax.set(xlabel="streams", title=printed.caption(cells, group))

    def text(value: float, other: float) -> str:
        if math.isnan(value):
            return "no value" if math.isnan(other) else f"{other:.0f}, disturbed,"
        return f"{value:.0f}"

    words = "; ".join(
        f"{name}: {_with(streams, map(text, row, others), str)}"
        for name, row, others in zip(names, values, hollow, strict=True)
    )
    alt = f"Heat map of goodput in per cent of {bus} by streams, {group}. {words}."
    return describe(ax, alt, " ".join([*_both_note(part, study), *printed.cell_notes(part)]))


@drawing.theme()
def repeat_panels(runs: pd.DataFrame, group: str, *, study: Study) -> Panels:
    """Draw every repeat of one group as a dot, a flagged run as a cross; a panel a tuning."""
    part = runs[(runs["group"] == group) & runs["goodput_MBps"].notna()]
    labels, styles = cell_texts.tuning_labels(part, study), drawing.mtu_styles(runs["mtu_B"])
    columns = max(1, len(labels))
    size = (drawing.width_of_panels(columns, 2.75), 3.2)
    fig, axes = plt.subplots(1, columns, figsize=size, sharey=True, squeeze=False)
    streams, words = sorted(part["streams"].unique()), []
    mtus = sorted(part["mtu_B"].unique())
    for ax, (tuning, label) in zip(axes[0], labels.items(), strict=False):
        of_tuning = part[part["tuning"] == tuning]
        for (mtu_B, count), cell in of_tuning.groupby(["mtu_B", "streams"]):
            at = streams.index(count) + (mtus.index(mtu_B) - (len(mtus) - 1) / 2) * 0.27
            style = {**styles[mtu_B], "linestyle": "none", "markersize": 4}
            if len(part) > MOST_DOTS:
                _range(ax, cell, at, style, f"MTU {mtu_B} B", upright=True)
            else:
                name = f"MTU {mtu_B} B" if count == streams[0] else "_"
                _dots(ax, cell, at, style, name, upright=True)
        ax.set_xticks(range(len(streams)), [str(n) for n in streams])
        ax.set(xlabel="streams", title=label)
        words.append(f"{label}: {valid_runs(of_tuning).sum()} valid runs of {len(of_tuning)}")
        words[-1] += _burst_text(of_tuning)
    axes[0][0].set(ylabel="goodput, MB/s", ylim=(0, None))
    legend: dict[str, Any] = {}
    for ax in axes[0]:
        handles, names = ax.get_legend_handles_labels()
        legend |= dict(zip(names, handles, strict=True))
    names = [name for mtu_B in mtus if (name := f"MTU {mtu_B} B") in legend]
    if names:
        fig.legend([legend[n] for n in names], names, loc="outside lower center", ncols=len(names))
    fig.suptitle(arrows(group), x=0.02, ha="left", fontweight="bold", fontsize=11)
    alt = f"{_drawn_runs(part)}, {group}, one panel a tuning. {'; '.join(words)}."
    return Panels(describe(fig, alt, _repeats_caption(part)), axes)


@drawing.theme()
def cost_over_streams(
    frame: pd.DataFrame, group: str, *, study: Study, ax: Axes | None = None
) -> Axes:
    """Draw CPU seconds a GB of payload over streams, one line an MTU and tuning."""
    part = frame[frame["group"] == group]
    labels, styles = cell_texts.tuning_labels(part, study), drawing.mtu_styles(frame["mtu_B"])
    dashes, words = drawing.tuning_dashes(list(labels)), []
    ax = ax or drawing.new_axes((6.4, 4.2))
    for tuning, label in labels.items():
        for mtu_B, line in part[part["tuning"] == tuning].groupby("mtu_B"):
            line = line.sort_values("streams").astype({"cpu_s_per_GB": float})
            middle, name = line["cpu_s_per_GB"], f"{label}, {mtu_B} B"
            reach = [middle - line["low"].astype(float), line["high"].astype(float) - middle]
            style = {**styles[mtu_B], "linestyle": dashes[tuning], "capsize": 2, "elinewidth": 1}
            ax.errorbar(line["streams"].to_numpy(), middle, yerr=reach, label=name, **style)
            words.append(f"{name}: {_with(line['streams'], middle, '{:.3g}'.format)}")
    drawing.stream_axis(ax, sorted(part["streams"].unique()))
    ax.set(ylabel="CPU time, s/GB", ylim=(0, None), title=arrows(group))
    drawing.label_lines(ax, size_pt=8.5)
    alt = f"Line chart of CPU seconds a GB of payload by streams, {group}. {'; '.join(words)}."
    return describe(ax, alt, COST_CAPTION)
