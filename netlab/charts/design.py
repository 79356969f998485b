"""Charts of a design before and of a run after measuring: order, cells, knob values, samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import printed
from netlab.charts.chart import describe
from netlab.charts.labels import legend_below
from netlab.charts.palette import BAND_COLOUR, CEILING_COLOUR, mtu_styles, other_style, second_style
from netlab.charts.theme import new_axes, theme
from netlab.study import Study
from netlab.units import arrows

ROW_IN = 0.27
WIDTH_IN = 6.4


def _row(labels: Mapping[str, str], tuning: str, mtu_B: int) -> str:
    return f"{labels[tuning]}, {f'{mtu_B} B' if mtu_B else 'MTU as found'}"


def _rows(plan: pd.DataFrame, study: Study) -> tuple[list[tuple], dict[str, str]]:
    """Tunings and MTUs of a plan in their order, and the labels of the tunings."""
    labels = printed.tuning_labels(plan, study)
    keys = plan[["tuning", "mtu_B"]].fillna(0).drop_duplicates().itertuples(index=False, name=None)
    rank = list(labels)
    return sorted(
        ((t, int(m)) for t, m in keys), key=lambda key: (rank.index(key[0]), key[1])
    ), labels


def _listed(ax: Axes, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")


@theme()
def order(plan: pd.DataFrame, study: Study, *, ax: Axes | None = None) -> Axes:
    """Draw the runs of a plan in the order of measuring, a row a tuning and MTU."""
    keys, labels = _rows(plan, study)
    ax = ax or new_axes((WIDTH_IN, 1.1 + ROW_IN * len(keys)))
    styles = mtu_styles(mtu_B for _, mtu_B in keys)
    mtus = plan["mtu_B"].fillna(0)
    for row, (tuning, mtu_B) in enumerate(keys):
        part = plan[(plan["tuning"] == tuning) & (mtus == mtu_B)]
        style = {**styles[mtu_B], "linestyle": "none", "marker": "|", "markersize": 9,
                 "markeredgecolor": styles[mtu_B]["color"], "markeredgewidth": 0.9}  # fmt: skip
        ax.plot(part["order"], [row] * len(part), label=_row(labels, tuning, mtu_B), **style)
    for start in plan.groupby("round")["order"].min():
        ax.axvline(start - 0.5, color=CEILING_COLOUR, linewidth=0.7, zorder=0)
    _listed(ax, [_row(labels, *key) for key in keys])
    ax.set(xlabel="order of measuring (lines: starts of rounds)", title="Runs in their order")
    rounds = plan["round"].nunique()
    return describe(
        ax,
        f"Marks of {len(plan)} runs in the order of measuring, one row a tuning and MTU; "
        f"{rounds} round{'s' * (rounds != 1)}, each with all rows in an order of its own.",
    )


@theme()
def cells(plan: pd.DataFrame, study: Study, title: str, *, ax: Axes | None = None) -> Axes:
    """Draw a dot for each cell of a design: streams by tuning and MTU, coloured by MTU."""
    keys, labels = _rows(plan, study)
    streams = sorted(plan["streams"].unique())
    ax = ax or new_axes((WIDTH_IN, 1.1 + ROW_IN * len(keys)))
    styles = mtu_styles(mtu_B for _, mtu_B in keys)
    mtus = plan["mtu_B"].fillna(0)
    words = []
    for row, (tuning, mtu_B) in enumerate(keys):
        part = plan[(plan["tuning"] == tuning) & (mtus == mtu_B)]
        counts = part.groupby("streams").size()
        places = [streams.index(count) for count in counts.index]
        style = {**styles[mtu_B], "linestyle": "none", "markersize": 8}
        name = _row(labels, tuning, mtu_B)
        ax.plot(places, [row] * len(places), label=name, **style)
        words.append(f"{name}: {', '.join(map(str, counts.index))} streams")
    ax.set_xticks(range(len(streams)), [str(count) for count in streams])
    ax.set_xlim(-0.5, len(streams) - 0.5)
    _listed(ax, [_row(labels, *key) for key in keys])
    ax.set(xlabel="TCP streams", title=arrows(title))
    return describe(ax, f"Dots of the cells of {title}. {'; '.join(words)}.")


@theme()
def knob_values(
    values: Mapping[str, Mapping[str, float]], chosen: str, *, ax: Axes | None = None
) -> Axes:
    """Draw numeric values of knobs on a logarithmic axis, a colour a tuning."""
    names = list(values[chosen])
    ax = ax or new_axes((WIDTH_IN, 1.3 + ROW_IN * max(1, len(names))))
    for i, (label, known) in enumerate(values.items()):
        style = {**second_style(i), "linestyle": "none", "markersize": 8}
        if label != chosen:
            style |= {"markerfacecolor": "white", "markeredgecolor": style["color"]}
        rows = [row for row, name in enumerate(names) if name in known]
        ax.plot([known[names[row]] for row in rows], rows, label=label, **style)
    ax.set_xscale("symlog", linthresh=1)
    _listed(ax, names)
    ax.set(xlabel="value, in the unit of the knob (logarithmic)", title=f"{chosen}: values")
    legend_below(ax, ncols=len(values))
    words = "; ".join(f"{name} {value:g}" for name, value in values[chosen].items())
    return describe(ax, f"Dots of the values of knobs under {chosen}: {words or 'none'}.")


@theme()
def samples(line: pd.DataFrame, run_id: str, *, ax: Axes | None = None) -> Axes:
    """Draw the goodput of one run over time; the measured window is shaded."""
    ax = ax or new_axes((WIDTH_IN, 2.6))
    window = line.loc[line["in_window"], "t_s"]
    if len(window):
        ax.axvspan(window.min(), window.max(), color=BAND_COLOUR, zorder=0)
    style = {**other_style(0), "markersize": 3.5}
    ax.plot(line["t_s"], line["goodput_MBps"], label="goodput", **style)
    ax.set(xlabel="s", ylabel="goodput, MB/s", title=arrows(run_id))
    ax.set_ylim(bottom=0)
    reach = line.loc[line["in_window"], "goodput_MBps"]
    low, high = (reach.min(), reach.max()) if len(reach) else (np.nan, np.nan)
    return describe(
        ax,
        f"Line of the goodput of {run_id} over {len(line)} samples, in the window "
        f"{printed.number(low)} to {printed.number(high)} MB/s.",
        "Grey: the measured window.",
    )
