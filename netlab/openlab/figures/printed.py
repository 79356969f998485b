"""Charts of the published figures: openlab 2003 and its preliminary notes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from itertools import product

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from netlab import bus
from netlab.charts import line_labels, looks
from netlab.charts.chart import Gallery, describe
from netlab.errors import require
from netlab.openlab import published
from netlab.openlab.figures.style import LIMIT, name_rows
from netlab.openlab.published.claims.notes_values import misprints
from netlab.openlab.published.layout import GOAL_PERCENT, TITLE_OF_SET, TITLE_OF_TABLE, TUNING_WORDS

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
    which for which in product(TITLE_OF_TABLE, TUNINGS) if which not in PRINTED_CHARTS
)


@looks.theme()
def throughput_by_streams(table: int, tuning: str, *, ax: Axes | None = None) -> Axes:
    """Draw one chart of chapter 4: throughput over streams, one line per MTU."""
    require((table, tuning), PRINTED_CHARTS + MISSING_CHARTS, key="chart", code="E-CHARTS-005")
    whole = published.load("openlab-2003").query("table == @table")
    frame = whole.query("tuning == @tuning")
    hosts = HOSTS_OF_TABLE[table]
    ax = ax or looks.new_axes(looks.SMALL_CHART_SIZE_IN)
    ax.set(
        title=f"{hosts},\n{TUNING_WORDS[tuning]}",
        xlabel="Streams" + (" in each direction" if "↔" in hosts else ""),
        ylabel="Throughput, MB/s",
        ylim=(0, 1.05 * whole["throughput_MBps"].max()),
    )
    _lines(ax, frame, "throughput_MBps")
    return describe(ax, _alt(f"Table {table}, {hosts}, {TUNING_WORDS[tuning]}: throughput", frame))


def chapter_4(which: Iterable[tuple[int, str]]) -> Gallery:
    return Gallery.of(*(throughput_by_streams(*each) for each in which))


@looks.theme()
def best_percent_of_bus(*, ax: Axes | None = None) -> Axes:
    """Draw the best cell of every table and tuning, in per cent of PCI-X, with the goal."""
    frame = published.load("openlab-2003")
    best = frame.groupby(["table", "tuning"])["percent_of_bus"].max().unstack()[list(TUNINGS)]
    names = [f"Table {number}: {hosts}" for number, hosts in HOSTS_OF_TABLE.items()]
    ax = ax or looks.new_axes(looks.CHART_SIZE_IN)
    rows = list(range(len(best)))[::-1]
    for i, tuning in enumerate(TUNINGS):
        style = looks.second_style(i) | {"linestyle": "none", "markersize": 8}
        # Some bests are equal: a step down for each tuning keeps all markers visible.
        ax.plot(best[tuning], [row + 0.25 * (1 - i) for row in rows], label=TUNING_WORDS[tuning],
                **style)  # fmt: skip
    ax.axvline(GOAL_PERCENT, **LIMIT)
    ax.text(GOAL_PERCENT - 1, rows[-1] - 0.55, f"goal, {GOAL_PERCENT} %", ha="right", va="center",
            fontsize=9, color=looks.CEILING_COLOUR)  # fmt: skip
    ax.set(
        title="Best cell of each table and tuning",
        xlabel="Throughput, % of the slower host's PCI-X bandwidth",
        xlim=(0, 100),
        ylim=(rows[-1] - 0.8, rows[0] + 0.6),
    )
    name_rows(ax, rows, names)
    ax.grid(axis="x", visible=True)
    line_labels.legend_below(ax, ncols=len(TUNINGS))
    words = ", ".join(TUNING_WORDS.values())
    values = "; ".join(
        f"table {table} {', '.join(f'{row[t]:.0f}' for t in TUNINGS)}"
        for table, row in best.iterrows()
    )
    alt = (
        f"Best cell of each table in per cent of PCI-X bandwidth, {words}: "
        f"{values}. The goal is {GOAL_PERCENT}; the most reached is {best.max(axis=None):.0f}."
    )
    return describe(ax, alt)


PRELIMINARY_VALUES = {"throughput_MBps": "Total", "per_stream_MBps": "Per stream"}


@looks.theme()
def preliminary_set(tuning: str, value: str = "throughput_MBps", *, ax: Axes | None = None) -> Axes:
    """Draw one set of the notes over streams, one line per MTU."""
    require(value, PRELIMINARY_VALUES, key="value", code="E-CHARTS-006")
    frame = published.load("openlab-2003-preliminary")
    part = frame[frame["tuning"] == tuning]
    ax = ax or looks.new_axes(looks.SMALL_CHART_SIZE_IN)
    ax.set(
        title="\n".join([*textwrap.wrap(TITLE_OF_SET[tuning], 30), ""][:2]),  # beside the others
        xlabel="Streams",
        ylabel=f"{PRELIMINARY_VALUES[value]}, MB/s",
        ylim=(0, 1.08 * frame[value].max()),
    )
    _lines(ax, part, value)
    note = _misprint(ax, tuning) if value == "throughput_MBps" else ""
    alt = _alt(f"{TITLE_OF_SET[tuning]}: {PRELIMINARY_VALUES[value]}", part, value)
    return describe(ax, alt + note)


def _misprint(ax: Axes, tuning: str) -> str:
    """Mark the sum of the streams of a misprinted total; return a note for the alt text."""
    note = ""
    wrong = misprints()
    for row in wrong[wrong["tuning"] == tuning].itertuples():
        ax.plot(row.streams, row.streams_times_MBps, marker="*", markersize=11,
                color=looks.OTHERS[0], label="_misprint", linestyle="none")  # fmt: skip
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
    return Gallery.of(*(preliminary_set(tuning, value) for tuning in TUNINGS))


@looks.theme()
def burst_efficiency(*, ax: Axes | None = None) -> Axes:
    """Draw the share of PCI-X that carries data over the burst size, modelled by `netlab.bus`."""
    sizes = list(bus.MMRBC_BYTES)
    ax = ax or looks.new_axes(looks.CHART_SIZE_IN)
    ends = []
    for i, latency in enumerate((0, 50, 100)):
        values = [100 * bus.pci_x_efficiency(size, latency_clocks=latency) for size in sizes]
        ax.plot(sizes, values, label=f"{latency} idle clocks", **looks.other_style(i))
        ends.append(f"{latency} idle clocks {values[0]:.0f} to {values[-1]:.0f}")
    ax.axhline(GOAL_PERCENT, **LIMIT)
    ax.text(sizes[0], GOAL_PERCENT - 2, f"goal, {GOAL_PERCENT} %", color=looks.CEILING_COLOUR,
            fontsize=9, va="top")  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set(
        title="Efficiency of a 64-bit PCI-X bus by burst size (model)",
        xlabel="Maximum memory read byte count (MMRBC), B",
        ylabel="Data clocks, % of all clocks",
        ylim=(0, 103),
    )
    line_labels.label_lines(ax)
    alt = "Modelled PCI-X efficiency in per cent from MMRBC 512 to 4096 bytes: "
    return describe(ax, alt + "; ".join(ends))


def _lines(ax: Axes, frame: pd.DataFrame, value: str) -> None:
    for mtu_B, style in looks.mtu_styles(frame["mtu_B"]).items():
        line = frame[frame["mtu_B"] == mtu_B].sort_values("streams")
        ax.plot(line["streams"].astype(float), line[value], label=f"{mtu_B} B", **style)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    stream_ticks(ax, frame["streams"], 1.02)
    line_labels.label_lines(ax)


def stream_ticks(ax: Axes, streams: pd.Series, room: float) -> None:
    ticks = sorted(streams.unique())
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.set_xlim(0, max(ticks) * room)


def _alt(title: str, frame: pd.DataFrame, value: str = "throughput_MBps") -> str:
    """Alt text of a line chart: every value, by MTU."""
    streams = ", ".join(str(n) for n in sorted(frame["streams"].unique()))
    lines = "; ".join(
        f"MTU {mtu_B} bytes: {', '.join(f'{v:g}' for v in part.sort_values('streams')[value])}"
        for mtu_B, part in frame.groupby("mtu_B")
    )
    return f"{title} in MB/s for {streams} streams. {lines}."
