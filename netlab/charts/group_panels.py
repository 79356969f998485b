"""Views of a group whose cells have streams, MTU and tuning alone."""

from __future__ import annotations

import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import cell_texts, printed
from netlab.analysis.cells import disturbed
from netlab.charts import axis_bounds, line_labels, looks
from netlab.charts.cell_rows import (
    COST_CAPTION,
    MOST_DOTS,
    draw_dots,
    draw_range,
    drawn_runs,
    repeats_caption,
    unsteady_text,
    valid_runs,
)
from netlab.charts.cells import both_ways_note, with_streams
from netlab.charts.chart import Panels, describe
from netlab.files import tables
from netlab.study import Study
from netlab.units import arrows, plain

HEAT_ROW_IN = 0.36


@looks.theme()
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
    ax = ax or looks.new_axes((6.4, 1.2 + HEAT_ROW_IN * len(names)))
    looks.heat_map(
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
                va="center", color=looks.HOLLOW_COLOUR)  # fmt: skip
    ax.tick_params(axis="y", rotation=0, length=0)
    ax.tick_params(axis="x", length=0)
    ax.set(xlabel="streams", title=printed.caption(cells, group))

    def text(value: float, other: float) -> str:
        if math.isnan(value):
            return "no value" if math.isnan(other) else f"{other:.0f}, flagged,"
        return f"{value:.0f}"

    words = "; ".join(
        f"{name}: {with_streams(streams, map(text, row, others), str)}"
        for name, row, others in zip(names, values, hollow, strict=True)
    )
    alt = f"Heat map of goodput in per cent of {bus} by streams, {group}. {words}."
    return describe(ax, alt, " ".join([*both_ways_note(part, study), *printed.cell_notes(part)]))


@looks.theme()
def repeat_panels(runs: pd.DataFrame, group: str, *, study: Study) -> Panels:
    """Draw every repeat of one group as a dot, a flagged run as a cross; a panel a tuning."""
    part = runs[(runs["group"] == group) & runs["goodput_MBps"].notna()]
    labels, styles = cell_texts.tuning_labels(part, study), looks.mtu_styles(runs["mtu_B"])
    columns = max(1, len(labels))
    size = (looks.width_of_panels(columns, 2.75), 3.2)
    fig, axes = plt.subplots(1, columns, figsize=size, sharey=True, squeeze=False)
    streams, words = sorted(part["streams"].unique()), []
    mtus = sorted(part["mtu_B"].unique())
    for ax, (tuning, label) in zip(axes[0], labels.items(), strict=False):
        of_tuning = part[part["tuning"] == tuning]
        for (mtu_B, count), cell in of_tuning.groupby(["mtu_B", "streams"]):
            at = streams.index(count) + (mtus.index(mtu_B) - (len(mtus) - 1) / 2) * 0.27
            style = {**styles[mtu_B], "linestyle": "none", "markersize": 4}
            if len(part) > MOST_DOTS:
                draw_range(ax, cell, at, style, f"MTU {mtu_B} B", upright=True)
            else:
                name = f"MTU {mtu_B} B" if count == streams[0] else "_"
                draw_dots(ax, cell, at, style, name, upright=True)
        ax.set_xticks(range(len(streams)), [str(n) for n in streams])
        ax.set(xlabel="streams", title=label)
        words.append(f"{label}: {valid_runs(of_tuning).sum()} valid runs of {len(of_tuning)}")
        words[-1] += unsteady_text(of_tuning)
    axes[0][0].set(ylabel="goodput, MB/s", ylim=(0, None))
    legend: dict[str, Any] = {}
    for ax in axes[0]:
        handles, names = ax.get_legend_handles_labels()
        legend |= dict(zip(names, handles, strict=True))
    names = [name for mtu_B in mtus if (name := f"MTU {mtu_B} B") in legend]
    if names:
        fig.legend([legend[n] for n in names], names, loc="outside lower center", ncols=len(names))
    fig.suptitle(arrows(group), x=0.02, ha="left", fontweight="bold", fontsize=11)
    alt = f"{drawn_runs(part)}, {group}, one panel a tuning. {'; '.join(words)}."
    return Panels(describe(fig, alt, repeats_caption(part)), axes)


@looks.theme()
def cost_over_streams(
    frame: pd.DataFrame, group: str, *, study: Study, ax: Axes | None = None
) -> Axes:
    """Draw CPU seconds a GB of payload over streams, one line an MTU and tuning."""
    part = frame[frame["group"] == group]
    labels, styles = cell_texts.tuning_labels(part, study), looks.mtu_styles(frame["mtu_B"])
    dashes, words = looks.tuning_dashes(list(labels)), []
    ax = ax or looks.new_axes((6.4, 4.2))
    for tuning, label in labels.items():
        for mtu_B, line in part[part["tuning"] == tuning].groupby("mtu_B"):
            line = line.sort_values("streams").astype({"cpu_s_per_GB": float})
            middle, name = line["cpu_s_per_GB"], f"{label}, {mtu_B} B"
            reach = [middle - line["low"].astype(float), line["high"].astype(float) - middle]
            style = {**styles[mtu_B], "linestyle": dashes[tuning], "capsize": 2, "elinewidth": 1}
            ax.errorbar(line["streams"].to_numpy(), middle, yerr=reach, label=name, **style)
            words.append(f"{name}: {with_streams(line['streams'], middle, _three_digits)}")
    axis_bounds.stream_axis(ax, sorted(part["streams"].unique()))
    ax.set(ylabel="CPU time, s/GB", ylim=(0, None), title=arrows(group))
    line_labels.label_lines(ax, size_pt=8.5)
    alt = f"Line chart of CPU seconds a GB of payload by streams, {group}. {'; '.join(words)}."
    return describe(ax, alt, COST_CAPTION)


def _three_digits(value: float) -> str:
    return plain(value, ".3g")
