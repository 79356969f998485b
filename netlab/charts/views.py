"""Views of a measured study: per cent of ceiling, effects, every repeat, CPU cost."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from netlab.analysis import printed
from netlab.analysis.cells import disturbed, valid
from netlab.charts.chart import Panels, describe
from netlab.charts.forest import RATIO, forest
from netlab.charts.labels import label_lines, legend_below, stream_axis
from netlab.charts.theme import (
    CEILING_COLOUR,
    HOLLOW_COLOUR,
    mtu_styles,
    new_axes,
    other_style,
    theme,
    tuning_dashes,
)
from netlab.files.tables import HOLLOW
from netlab.study import Study
from netlab.units import arrows

ROW_IN = 0.36
JITTER = 0.16
"""Half the width that dots of one position are spread over."""

REPEATS_CAPTION = "One dot a run, a cross where it is flagged; lines: medians."


def _row_label(labels: dict[str, str], tuning: str, mtu_B: int) -> str:
    return f"{labels[tuning]}, {mtu_B} B"


@theme()
def ceiling(
    cells: pd.DataFrame, group: str, *, study: Study | None = None, ax: Axes | None = None
) -> Axes:
    """Heat map of one group: per cent of the bus, tuning and MTU over streams."""
    part = printed.of_group(cells, group)
    both = printed.both_ways(part, study)
    bus = "twice the bus" if both else "the bus"
    labels = printed.tuning_labels(part, study)
    pairs, order = {(row.tuning, row.mtu_B) for row in part.itertuples()}, list(labels)
    keys = sorted(pairs, key=lambda key: (order.index(key[0]), key[1]))
    streams = sorted(part["streams"].unique())
    part = part.assign(disturbed_percent=disturbed(part, "percent_of_bus"))
    shares = part.set_index(["tuning", "mtu_B", "streams"])[["percent_of_bus", "disturbed_percent"]]
    values, hollow = (
        np.array([[share.get((*key, n), math.nan) for n in streams] for key in keys], dtype=float)
        for _, share in shares.items()
    )
    ax = ax or new_axes((6.4, 1.2 + ROW_IN * len(keys)))
    texts = np.array([["" if math.isnan(v) else f"{v:.0f}" for v in row] for row in values])
    sns.heatmap(
        values,
        ax=ax,
        vmin=0,
        vmax=100,
        cmap="cividis",
        annot=texts,
        fmt="",
        linewidths=1,
        cbar_kws={"label": f"% of {bus}"},
        xticklabels=[str(n) for n in streams],
        yticklabels=[_row_label(labels, *key) for key in keys],
    )
    ax.grid(visible=False)
    for row, column in np.argwhere(~np.isnan(hollow)):  # the heat map writes on no blank field
        ax.text(column + 0.5, row + 0.5, f"{HOLLOW} {hollow[row, column]:.0f}", ha="center",
                va="center", color=HOLLOW_COLOUR)  # fmt: skip
    ax.tick_params(axis="y", rotation=0, length=0)
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel("TCP streams")
    ax.set_title(printed.caption(cells, group))
    words = "; ".join(
        f"{_row_label(labels, *key)}: "
        + ", ".join(
            f"{value:.0f} with {n}"
            if not math.isnan(value)
            else f"no value with {n}"
            if math.isnan(other)
            else f"{other:.0f}, disturbed, with {n}"
            for value, other, n in zip(row, others, streams, strict=True)
        )
        for key, row, others in zip(keys, values, hollow, strict=True)
    )
    alt = f"Heat map of goodput in per cent of {bus} by streams, {group}. {words}."
    notes = [f"{printed.BOTH_WAYS.capitalize()}."] if both else []
    return describe(ax, alt, " ".join([*notes, *printed.cell_notes(part)]))


def effects(
    steps: pd.DataFrame,
    labels: dict[str, str],
    factors: dict[str, str],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Forest plot: the ratio of goodput for each step of each factor, with its interval."""
    marks = steps.rename(columns={"ratio": "centre"}).assign(
        row=[
            f"{factors[step.factor]}: "
            + " to ".join(arrows(labels.get(one, one)) for one in (step.from_level, step.to_level))
            for step in steps.itertuples()
        ],
        series=steps["factor"].map(factors),
        verdict=[f"in {count} cases" for count in steps["contexts"]],
    )
    caption = "Bars: interval between the cases that differ in this step alone."
    return forest(
        marks,
        {name: other_style(i) for i, name in enumerate(dict.fromkeys(marks["series"]))},
        "ratio of goodput by step",
        title="Effect of each step of a factor",
        quantity="ratio of goodput",
        scale=RATIO,
        caption=caption if steps["low"].notna().any() else "",
        ax=ax,
    )


@theme()
def repeat_panels(runs: pd.DataFrame, group: str, *, study: Study) -> Panels:
    """Draw every repeat of one group as a dot, a flagged run as a cross; a panel a tuning."""
    part = runs[(runs["group"] == group) & runs["goodput_MBps"].notna()]
    labels = printed.tuning_labels(part, study)
    styles = mtu_styles(runs["mtu_B"])
    fig, axes = plt.subplots(
        1, max(1, len(labels)), figsize=(1.0 + 2.75 * max(1, len(labels)), 3.9), sharey=True,
        squeeze=False,
    )  # fmt: skip
    words = []
    for ax, (tuning, label) in zip(axes[0], labels.items(), strict=False):
        words.append(_repeats(ax, part, tuning, label, styles))
        ax.set_title(label)
    axes[0][0].set_ylabel("goodput, MB/s")
    axes[0][0].set_ylim(bottom=0)
    found = {
        name: handle
        for ax in axes[0]
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    names = [f"MTU {mtu_B} B" for mtu_B in sorted(part["mtu_B"].unique())]
    names = [name for name in names if name in found]
    if names:
        fig.legend([found[n] for n in names], names, loc="outside lower center", ncols=len(names))
    fig.suptitle(arrows(group), x=0.02, ha="left",
                 fontweight="bold", fontsize=11)  # fmt: skip
    alt = f"Dots of the goodput of every run, {group}, one panel a tuning. {'; '.join(words)}."
    describe(fig, alt, REPEATS_CAPTION)
    return Panels(fig, axes)


def _repeats(ax: Axes, part: pd.DataFrame, tuning: str, label: str, styles: dict) -> str:
    """Draw the repeats of one tuning of a group; return them in words."""
    streams = sorted(part["streams"].unique())
    mtus = sorted(part["mtu_B"].unique())
    good = set(valid(part)["run_id"])
    of_tuning = part[part["tuning"] == tuning]
    for (mtu_B, count), cell in of_tuning.groupby(["mtu_B", "streams"]):
        centre = streams.index(count) + (mtus.index(mtu_B) - (len(mtus) - 1) / 2) * 0.27
        place = centre + JITTER / 2 * np.linspace(-1, 1, len(cell)) * (len(cell) > 1)
        valid_ones = cell["run_id"].isin(good).to_numpy()
        values = cell["goodput_MBps"].to_numpy(dtype=float)
        style = {**styles[mtu_B], "linestyle": "none", "markersize": 4}
        first = count == streams[0]
        ax.plot(
            place[valid_ones], values[valid_ones], **style,
            label=f"MTU {mtu_B} B" if first else "_",
        )  # fmt: skip
        if not valid_ones.all():
            crosses = {**style, "marker": "x", "markeredgecolor": style["color"]}
            ax.plot(place[~valid_ones], values[~valid_ones], **crosses, label="_flagged")
        if valid_ones.any():
            median = float(np.median(values[valid_ones]))
            ax.plot(
                [centre - JITTER, centre + JITTER], [median, median],
                color=style["color"], linewidth=1, label="_median",
            )  # fmt: skip
    ax.set_xticks(range(len(streams)), [str(n) for n in streams])
    ax.set_xlabel("TCP streams")
    of_good = of_tuning[of_tuning["run_id"].isin(good)]
    return f"{label}: {len(of_good)} valid runs of {len(of_tuning)}"


@theme()
def cost(frame: pd.DataFrame, group: str, *, study: Study, ax: Axes | None = None) -> Axes:
    """Draw CPU seconds a GB of payload over streams, one line an MTU and tuning."""
    part = frame[frame["group"] == group]
    labels = printed.tuning_labels(part, study)
    styles = mtu_styles(frame["mtu_B"])
    dashes = tuning_dashes(list(labels))
    ax = ax or new_axes((6.4, 4.2))
    words = []
    for tuning, label in labels.items():
        for mtu_B, line in part[part["tuning"] == tuning].groupby("mtu_B"):
            line = line.sort_values("streams")
            middle = line["cpu_s_per_GB"].to_numpy(float)
            reach = [middle - line["low"].to_numpy(float), line["high"].to_numpy(float) - middle]
            style = {**styles[mtu_B], "linestyle": dashes[tuning]}
            name = f"{label}, {mtu_B} B"
            ax.errorbar(
                line["streams"].to_numpy(), middle, yerr=reach, label=name, capsize=2,
                elinewidth=1, **style,
            )  # fmt: skip
            listed = ", ".join(
                f"{v:.3g} with {n}" for v, n in zip(middle, line["streams"], strict=True)
            )
            words.append(f"{name}: {listed}")
    stream_axis(ax, sorted(part["streams"].unique()))
    ax.set_ylabel("CPU time, s/GB")
    ax.set_ylim(bottom=0)
    ax.set_title(arrows(group))
    label_lines(ax, size_pt=8.5)
    alt = f"Line chart of CPU seconds a GB of payload by streams, {group}. {'; '.join(words)}."
    return describe(ax, alt, "Median of the rounds; bars from the least to the greatest.")


@theme()
def trend(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the level of goodput over campaigns, the first at 1, and mark the steps found."""
    ax = ax or new_axes((6.4, 3.2))
    places = np.arange(len(frame))
    style = other_style(0)
    ax.plot(places, frame["level"], **{**style, "linestyle": "none"}, label="campaign")
    steps = frame["step"].to_numpy(dtype=bool)
    if steps.any():
        marks = {**other_style(1), "linestyle": "none", "markersize": 9}
        ax.plot(places[steps], frame.loc[steps, "level"], **marks, label="step")
    for place, row in zip(places[steps], frame[steps].itertuples(), strict=True):
        ax.annotate(f"×{row.ratio:.2f}", (place, row.level), xytext=(8, 6),
                    textcoords="offset points", fontsize=9)  # fmt: skip
    ax.axhline(1, color=CEILING_COLOUR, linewidth=1, zorder=1)
    ax.set_xticks(places, [campaign[:13] for campaign in frame["campaign"]], rotation=20)
    ax.set_ylabel("goodput, first campaign = 1")
    ax.set_title("Level of goodput over campaigns")
    legend_below(ax, ncols=2)
    words = "; ".join(
        f"{row.campaign}: {row.level:.3f}" + (" (a step)" if row.step else "")
        for row in frame.itertuples()
    )
    return describe(ax, f"Dots of the level of goodput over campaigns. {words}.")
