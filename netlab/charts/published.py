"""Charts of the published figures: openlab 2003 and its preliminary notes."""

from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from netlab import bus, published
from netlab.charts.style import (
    CEILING_COLOUR,
    CHART_SIZE_IN,
    DASHES,
    PALETTE,
    SMALL_CHART_SIZE_IN,
    Chart,
    Gallery,
    apply_style,
    label_lines,
    line_style,
    show,
)
from netlab.errors import BadInput
from netlab.published.claims.preliminary import misprints
from netlab.published.layout import GOAL_PERCENT, TITLE_OF_SET, TITLE_OF_TABLE

TUNINGS = ("none", "kernel", "full")
TUNING_WORDS = {"none": "no tuning", "kernel": "kernel tuning", "full": "full tuning"}
# The charts printed in chapter 4 of the report, by table and tuning, in its order.
PRINTED_CHARTS = (
    (2, "none"), (2, "full"),
    (3, "none"), (3, "kernel"), (3, "full"),
    (4, "none"), (4, "full"),
    (5, "kernel"), (5, "full"),
    (6, "none"), (6, "kernel"), (6, "full"),
)  # fmt: skip
HOSTS_OF_TABLE = {
    number: title.removesuffix(" results") for number, title in TITLE_OF_TABLE.items()
} | {1: "Linux64 → Linux64 (original)"}
MISSING_CHARTS = tuple(
    (table, tuning)
    for table in TITLE_OF_TABLE
    for tuning in TUNINGS
    if (table, tuning) not in PRINTED_CHARTS
)


def throughput_by_streams(table: int, tuning: str) -> Chart:
    """One chart of chapter 4: throughput over streams, one line per MTU.

    Parameters
    ----------
    table : int
        1 to 6. All charts of a table share the scale.
    tuning : {'none', 'kernel', 'full'}
        Which third of it.

    Returns
    -------
    Chart
    """
    if table not in TITLE_OF_TABLE or tuning not in TUNINGS:
        raise BadInput("no such table and tuning", key="table, tuning", value=(table, tuning))
    whole = published.load("openlab-2003").query("table == @table")
    frame = whole.query("tuning == @tuning")
    hosts = HOSTS_OF_TABLE[table]
    apply_style()
    fig, ax = plt.subplots(figsize=SMALL_CHART_SIZE_IN)
    _lines(ax, frame, "throughput_MBps")
    ax.set(
        title=f"{hosts},\n{TUNING_WORDS[tuning]}",
        xlabel="Streams" + (" in each direction" if "↔" in hosts else ""),
        ylabel="Throughput, MB/s",
        ylim=(0, 1.05 * whole["throughput_MBps"].max()),
    )
    label_lines(ax)
    return show(fig, _alt(f"Table {table}, {hosts}, {TUNING_WORDS[tuning]}: throughput", frame))


def printed_charts() -> Gallery:
    """The twelve charts of chapter 4, in its order."""
    return Gallery(tuple(throughput_by_streams(*which) for which in PRINTED_CHARTS))


def missing_charts() -> Gallery:
    """The charts that the report leaves out."""
    return Gallery(tuple(throughput_by_streams(*which) for which in MISSING_CHARTS))


def best_percent_of_bus() -> Chart:
    """The best cell of every table and tuning, in per cent of PCI-X, with the goal.

    Returns
    -------
    Chart
    """
    frame = published.load("openlab-2003")
    best = frame.groupby(["table", "tuning"])["percent_of_bus"].max().unstack()[list(TUNINGS)]
    names = [f"Table {number}: {hosts}" for number, hosts in HOSTS_OF_TABLE.items()]
    apply_style()
    fig, ax = plt.subplots(figsize=CHART_SIZE_IN)
    rows = list(range(len(best)))[::-1]
    for i, tuning in enumerate(TUNINGS):
        style = line_style(i) | {"linestyle": "none", "markersize": 8}
        # Some bests are equal: a step down for each tuning keeps all markers in sight.
        ax.plot(best[tuning], [row + 0.25 * (1 - i) for row in rows], label=TUNING_WORDS[tuning],
                **style)  # fmt: skip
    ax.axvline(GOAL_PERCENT, color=CEILING_COLOUR, linestyle=DASHES[1], linewidth=1.2)
    ax.text(GOAL_PERCENT - 1, rows[-1] - 0.55, f"goal, {GOAL_PERCENT} %", ha="right", va="center",
            fontsize=9, color=CEILING_COLOUR)  # fmt: skip
    ax.set(
        title="Best cell of each table and tuning",
        xlabel="Throughput, % of the slower host's PCI-X bandwidth",
        xlim=(0, 100),
        ylim=(rows[-1] - 0.8, rows[0] + 0.6),
    )
    ax.set_yticks(rows, names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", visible=True)
    fig.legend(loc="outside lower center", ncols=len(TUNINGS))
    values = "; ".join(
        f"table {table} {', '.join(f'{row[t]:.0f}' for t in TUNINGS)}"
        for table, row in best.iterrows()
    )
    return show(
        fig,
        "Best cell of each table in per cent of PCI-X bandwidth for none, kernel and full tuning: "
        f"{values}. The goal is {GOAL_PERCENT}; the most reached is {best.max(axis=None):.0f}.",
    )


def preliminary_by_streams(value: str = "throughput_MBps") -> Gallery:
    """Sets 1 to 3 of the notes over streams, one line per MTU.

    Parameters
    ----------
    value : {'throughput_MBps', 'per_stream_MBps'}
        Totals, with a stated total that cannot be right shown beside what its streams give; or
        the rate of one stream.

    Returns
    -------
    Gallery
    """
    words = {"throughput_MBps": "Total", "per_stream_MBps": "Per stream"}
    if value not in words:
        raise BadInput(f"must be one of {', '.join(words)}", key="value", value=value)
    frame = published.load("openlab-2003-preliminary")
    wrong = misprints() if value == "throughput_MBps" else misprints().iloc[:0]
    charts = []
    for tuning in TUNINGS:
        part = frame[frame["tuning"] == tuning]
        apply_style()
        fig, ax = plt.subplots(figsize=SMALL_CHART_SIZE_IN)
        _lines(ax, part, value)
        note = ""
        for row in wrong[wrong["tuning"] == tuning].itertuples():
            ax.plot(row.streams, row.streams_times_MBps, marker="*", markersize=11,
                    color=PALETTE[2], label="_misprint", linestyle="none")  # fmt: skip
            ax.annotate(
                f"{row.streams} × {row.per_stream_MBps:g}", (row.streams, row.streams_times_MBps),
                xytext=(0, 8), textcoords="offset points", ha="center", fontsize=9,
            )  # fmt: skip
            note = (
                f" The stated total of {row.streams} streams at {row.mtu_B} bytes, "
                f"{row.stated_total_MBps:g}, is a misprint; its streams give "
                f"{row.streams_times_MBps:g}, shown as a star."
            )
        ax.set(
            title=_two_lines(TITLE_OF_SET[tuning]),
            xlabel="Streams",
            ylabel=f"{words[value]}, MB/s",
            ylim=(0, 1.08 * frame[value].max()),
        )
        label_lines(ax)
        charts.append(
            show(fig, _alt(f"{TITLE_OF_SET[tuning]}: {words[value]}", part, value) + note)
        )
    return Gallery(tuple(charts))


def burst_efficiency() -> Chart:
    """Share of PCI-X that carries data over the burst size, from the model of `netlab.bus`."""
    sizes = list(bus.MMRBC_BYTES)
    apply_style()
    fig, ax = plt.subplots(figsize=CHART_SIZE_IN)
    ends = []
    for i, latency in enumerate((0, 50, 100)):
        values = [100 * bus.pci_x_efficiency(size, latency_clocks=latency) for size in sizes]
        ax.plot(sizes, values, label=f"{latency} idle clocks", **line_style(i))
        ends.append(f"{latency} idle clocks {values[0]:.0f} to {values[-1]:.0f}")
    ax.axhline(GOAL_PERCENT, color=CEILING_COLOUR, linestyle=DASHES[1], linewidth=1.2)
    ax.text(sizes[0], GOAL_PERCENT - 2, f"goal, {GOAL_PERCENT} %", color=CEILING_COLOUR,
            fontsize=9, va="top")  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set(
        title="What a burst leaves of a 64-bit PCI-X bus (model)",
        xlabel="Maximum memory read byte count (MMRBC), B",
        ylabel="Data clocks, % of all clocks",
        ylim=(0, 103),
    )
    label_lines(ax)
    return show(
        fig,
        "Modelled PCI-X efficiency in per cent from MMRBC 512 to 4096 bytes: " + "; ".join(ends),
    )


def _lines(ax: Axes, frame: pd.DataFrame, value: str) -> None:
    """One line per MTU, in the order of MTU, on ``ax``."""
    shown = frame.assign(MTU=frame["mtu_B"].astype(str) + " B")
    mtus = [f"{mtu_B} B" for mtu_B in sorted(frame["mtu_B"].unique())]
    for i, mtu in enumerate(mtus):
        style = line_style(i)
        sns.lineplot(
            shown[shown["MTU"] == mtu], x="streams", y=value, ax=ax, label=mtu, legend=False,
            estimator=None, errorbar=None,
            **style,
        )  # fmt: skip
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    ticks = sorted(frame["streams"].unique())
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.set_xlim(0, max(ticks) * 1.02)


def _two_lines(title: str) -> str:
    """A title in two lines, so that the axes of charts side by side are alike."""
    lines = textwrap.wrap(title, 30)
    return "\n".join([*lines, ""][:2] if len(lines) == 1 else lines)


def _alt(what: str, frame: pd.DataFrame, value: str = "throughput_MBps") -> str:
    """Words for a line chart: every value, by MTU."""
    streams = ", ".join(str(n) for n in sorted(frame["streams"].unique()))
    lines = "; ".join(
        f"MTU {mtu_B} bytes: {', '.join(f'{v:g}' for v in part.sort_values('streams')[value])}"
        for mtu_B, part in frame.groupby("mtu_B")
    )
    return f"{what} in MB/s for {streams} streams. {lines}."
