"""Round trips of cells and datagrams that they lost, over their goodput."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import cell_texts, printed
from netlab.analysis.cells import CELL_KEYS, DATAGRAMS, LATENCY, OVER_TCP
from netlab.analysis.percentiles import PERCENTILES
from netlab.charts import axis_bounds, line_labels, looks
from netlab.charts.cells import HOLLOW, SIZE_IN
from netlab.charts.chart import describe
from netlab.units import arrows, plain

NAME_IN, MOST_NAMES = 0.2, 8
"""Height of a line of a legend, and the most of them in one column."""


LATENCY_CAPTION = "RTT within the window less RTT before the streams: medians of the rounds."
PERCENTILES_CAPTION = "Probes of all runs of a cell together, as far as there are enough."
LOSS_CAPTION = "Datagrams sent and not received, of the whole run: medians of the rounds."


@looks.theme()
def latency(frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None) -> Axes:
    """Draw the latency that the load of each cell adds, over its goodput."""
    added_ms = frame.assign(shown=frame["added_latency_us"] / 1e3)
    return _over_goodput(added_ms, labels, ax, "added latency", "ms", LATENCY_CAPTION)


@looks.theme()
def latency_over_tcp(
    frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None
) -> Axes:
    """Draw the latency that the load adds to a TCP connection beside it, over goodput."""
    added_us = frame["tcp_rtt_loaded_p50_us"] - frame["tcp_rtt_idle_p50_us"]
    words = ("added latency over TCP", "ms", LATENCY_CAPTION)
    return _over_goodput(frame.assign(shown=added_us / 1e3), labels, ax, *words)


@looks.theme()
def rtt_percentiles(
    frame: pd.DataFrame, labels: Mapping[tuple, str], *, ax: Axes | None = None
) -> Axes:
    """Draw the percentiles of the round trips of each cell beside its load, its runs together."""
    ax, words = ax or looks.new_axes(SIZE_IN), []
    for line, (key, cell) in enumerate(frame.groupby(list(CELL_KEYS), sort=False)):
        (one,) = cell.to_dict("records")
        rtts_ms = {at: one[name] / 1e3 for name, at in PERCENTILES.items() if one[name] > 0}
        style = looks.other_style(line)
        if one["disturbed"]:
            style |= {"color": looks.HOLLOW_COLOUR, "markerfacecolor": "none"}
        # a nine more of the percentile is a decade
        one_in = [100 / (100 - at) for at in rtts_ms]
        ax.plot(one_in, [*rtts_ms.values()], **style, label=labels[key], clip_on=False)
        texts = (f"{plain(rtt_ms, '.3g')} at {at:g} %" for at, rtt_ms in rtts_ms.items())
        words.append(f"{labels[key]}: {', '.join(texts)}")
    ax.set_xscale("log")
    ax.minorticks_off()
    reached = [at for name, at in PERCENTILES.items() if frame[name].notna().any()]
    ax.set_xticks([100 / (100 - at) for at in reached], [f"{at:g}" for at in reached])
    ax.set(xlabel="percentile", ylabel="round trip under load, ms", ylim=(0, None))
    ax.set_title(arrows(str(frame["group"].iloc[0])))
    line_labels.legend_below(ax, ncols=1 + (len(frame) > MOST_NAMES))
    alt = f"Lines of round trips under load, ms, by percentile. {'; '.join(words)}."
    notes = printed.cell_notes(frame, HOLLOW)
    return describe(ax, alt, " ".join([PERCENTILES_CAPTION, *notes]))


@looks.theme()
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
    ax, words = ax or looks.new_axes((SIZE_IN[0], height_in)), []
    for at, (key, cell) in enumerate(frame.groupby(list(CELL_KEYS), sort=False)):
        (one,) = cell.itertuples()
        style = {**looks.other_style(at), "linestyle": "none"}
        if one.disturbed:
            place = (ax, [one.disturbed_MBps], [one.shown])
            axis_bounds.hollow_points(*place, label=labels[key], style=style, alone=True)
        else:
            ax.plot([one.goodput_MBps], [one.shown], **style, label=labels[key], clip_on=False)
        words.append(
            f"{labels[key]}: {plain(one.shown, '.3g')} {unit} at {cell_texts.texts(cell)[0]} MB/s"
        )
    lowered = bool((frame["shown"] < 0).any())  # a busy CPU answers sooner than an idle one
    if lowered:
        ax.axhline(0, color=looks.HOLLOW_COLOUR, linewidth=0.8, label="_zero")
    bottom = None if lowered else 0
    ax.set(xlabel="goodput, MB/s", ylabel=f"{name}, {unit}", xlim=(0, None), ylim=(bottom, None))
    ax.set_title(arrows(str(frame["group"].iloc[0])))
    line_labels.legend_below(ax, ncols=columns)
    alt = f"Dots of {name} over goodput. {'; '.join(words)}."
    return describe(ax, alt, " ".join([caption, *printed.cell_notes(frame, HOLLOW)]))
