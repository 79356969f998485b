"""Charts of the published figures: openlab 2003 and its preliminary notes."""

from __future__ import annotations

import textwrap

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from netlab import bus, published
from netlab.charts.chart import Gallery, describe
from netlab.charts.labels import label_lines, legend_below
from netlab.charts.palette import (
    CEILING_COLOUR,
    DASHES,
    OTHERS,
    mtu_styles,
    other_style,
    second_style,
)
from netlab.charts.theme import CHART_SIZE_IN, SMALL_CHART_SIZE_IN, new_axes, theme
from netlab.errors import BadInput
from netlab.published.claims.preliminary import misprints
from netlab.published.layout import GOAL_PERCENT, TITLE_OF_SET, TITLE_OF_TABLE, TUNING_WORDS

TUNINGS = tuple(TUNING_WORDS)
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


@theme()
def throughput_by_streams(table: int, tuning: str, *, ax: Axes | None = None) -> Axes:
    """Draw one chart of chapter 4: throughput over streams, one line per MTU."""
    if table not in TITLE_OF_TABLE or tuning not in TUNINGS:
        raise BadInput(
            "no such table and tuning",
            key="table, tuning",
            value=(table, tuning),
            code="E-CHARTS-005",
        )
    whole = published.load("openlab-2003").query("table == @table")
    frame = whole.query("tuning == @tuning")
    hosts = HOSTS_OF_TABLE[table]
    ax = ax or new_axes(SMALL_CHART_SIZE_IN)
    _lines(ax, frame, "throughput_MBps")
    ax.set(
        title=f"{hosts},\n{TUNING_WORDS[tuning]}",
        xlabel="Streams" + (" in each direction" if "↔" in hosts else ""),
        ylabel="Throughput, MB/s",
        ylim=(0, 1.05 * whole["throughput_MBps"].max()),
    )
    label_lines(ax)
    return describe(ax, _alt(f"Table {table}, {hosts}, {TUNING_WORDS[tuning]}: throughput", frame))


def printed_charts() -> Gallery:
    """All twelve charts of chapter 4, in its order."""
    return Gallery.of(*(throughput_by_streams(*which) for which in PRINTED_CHARTS))


def missing_charts() -> Gallery:
    """Charts that the report leaves out."""
    return Gallery.of(*(throughput_by_streams(*which) for which in MISSING_CHARTS))


@theme()
def best_percent_of_bus(*, ax: Axes | None = None) -> Axes:
    """Draw the best cell of every table and tuning, in per cent of PCI-X, with the goal."""
    frame = published.load("openlab-2003")
    best = frame.groupby(["table", "tuning"])["percent_of_bus"].max().unstack()[list(TUNINGS)]
    names = [f"Table {number}: {hosts}" for number, hosts in HOSTS_OF_TABLE.items()]
    ax = ax or new_axes(CHART_SIZE_IN)
    rows = list(range(len(best)))[::-1]
    for i, tuning in enumerate(TUNINGS):
        style = second_style(i) | {"linestyle": "none", "markersize": 8}
        # Some bests are equal: a step down for each tuning keeps all markers visible.
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
    legend_below(ax, ncols=len(TUNINGS))
    words = ", ".join(TUNING_WORDS.values())
    values = "; ".join(
        f"table {table} {', '.join(f'{row[t]:.0f}' for t in TUNINGS)}"
        for table, row in best.iterrows()
    )
    return describe(
        ax,
        f"Best cell of each table in per cent of PCI-X bandwidth, {words}: "
        f"{values}. The goal is {GOAL_PERCENT}; the most reached is {best.max(axis=None):.0f}.",
    )


PRELIMINARY_VALUES = {"throughput_MBps": "Total", "per_stream_MBps": "Per stream"}


@theme()
def preliminary_set(tuning: str, value: str = "throughput_MBps", *, ax: Axes | None = None) -> Axes:
    """Draw one set of the notes over streams, one line per MTU."""
    if value not in PRELIMINARY_VALUES:
        choices = ", ".join(PRELIMINARY_VALUES)
        raise BadInput(f"must be one of {choices}", key="value", value=value, code="E-CHARTS-006")
    frame = published.load("openlab-2003-preliminary")
    part = frame[frame["tuning"] == tuning]
    ax = ax or new_axes(SMALL_CHART_SIZE_IN)
    _lines(ax, part, value)
    note = _misprint(ax, tuning) if value == "throughput_MBps" else ""
    ax.set(
        title=_two_lines(TITLE_OF_SET[tuning]),
        xlabel="Streams",
        ylabel=f"{PRELIMINARY_VALUES[value]}, MB/s",
        ylim=(0, 1.08 * frame[value].max()),
    )
    label_lines(ax)
    alt = _alt(f"{TITLE_OF_SET[tuning]}: {PRELIMINARY_VALUES[value]}", part, value)
    return describe(ax, alt + note)


def _misprint(ax: Axes, tuning: str) -> str:
    """Mark the sum of the streams of a misprinted total; return a note for the alt text."""
    note = ""
    wrong = misprints()
    for row in wrong[wrong["tuning"] == tuning].itertuples():
        ax.plot(row.streams, row.streams_times_MBps, marker="*", markersize=11,
                color=OTHERS[0], label="_misprint", linestyle="none")  # fmt: skip
        ax.annotate(
            f"{row.streams} × {row.per_stream_MBps:g}", (row.streams, row.streams_times_MBps),
            xytext=(0, 8), textcoords="offset points", ha="center", fontsize=9,
        )  # fmt: skip
        note = (
            f" The stated total of {row.streams} streams at {row.mtu_B} bytes, "
            f"{row.stated_total_MBps:g}, is a misprint; its streams give "
            f"{row.streams_times_MBps:g}, shown as a star."
        )
    return note


def preliminary_by_streams(value: str = "throughput_MBps") -> Gallery:
    """One chart of `preliminary_set` for each of sets 1 to 3."""
    return Gallery.of(*(preliminary_set(tuning, value) for tuning in TUNINGS))


@theme()
def burst_efficiency(*, ax: Axes | None = None) -> Axes:
    """Draw the share of PCI-X that carries data over the burst size, modelled by `netlab.bus`."""
    sizes = list(bus.MMRBC_BYTES)
    ax = ax or new_axes(CHART_SIZE_IN)
    ends = []
    for i, latency in enumerate((0, 50, 100)):
        values = [100 * bus.pci_x_efficiency(size, latency_clocks=latency) for size in sizes]
        ax.plot(sizes, values, label=f"{latency} idle clocks", **other_style(i))
        ends.append(f"{latency} idle clocks {values[0]:.0f} to {values[-1]:.0f}")
    ax.axhline(GOAL_PERCENT, color=CEILING_COLOUR, linestyle=DASHES[1], linewidth=1.2)
    ax.text(sizes[0], GOAL_PERCENT - 2, f"goal, {GOAL_PERCENT} %", color=CEILING_COLOUR,
            fontsize=9, va="top")  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set(
        title="Efficiency of a 64-bit PCI-X bus by burst size (model)",
        xlabel="Maximum memory read byte count (MMRBC), B",
        ylabel="Data clocks, % of all clocks",
        ylim=(0, 103),
    )
    label_lines(ax)
    return describe(
        ax,
        "Modelled PCI-X efficiency in per cent from MMRBC 512 to 4096 bytes: " + "; ".join(ends),
    )


def _lines(ax: Axes, frame: pd.DataFrame, value: str) -> None:
    """One line per MTU, in the order of MTU, on ``ax``."""
    for mtu_B, style in mtu_styles(frame["mtu_B"]).items():
        sns.lineplot(
            frame[frame["mtu_B"] == mtu_B], x="streams", y=value, ax=ax, label=f"{mtu_B} B",
            legend=False, estimator=None, errorbar=None, **style,
        )  # fmt: skip
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    ticks = sorted(frame["streams"].unique())
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.set_xlim(0, max(ticks) * 1.02)


def _two_lines(title: str) -> str:
    """A title of exactly two lines, so that charts side by side have axes of one height."""
    lines = textwrap.wrap(title, 30)
    return "\n".join([*lines, ""][:2] if len(lines) == 1 else lines)


def _alt(title: str, frame: pd.DataFrame, value: str = "throughput_MBps") -> str:
    """Alt text of a line chart: every value, by MTU."""
    streams = ", ".join(str(n) for n in sorted(frame["streams"].unique()))
    lines = "; ".join(
        f"MTU {mtu_B} bytes: {', '.join(f'{v:g}' for v in part.sort_values('streams')[value])}"
        for mtu_B, part in frame.groupby("mtu_B")
    )
    return f"{title} in MB/s for {streams} streams. {lines}."
