"""Charts of the published figures, and of the claims about them."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from netlab import bus, published
from netlab.charts.chart import Gallery, describe
from netlab.charts.labels import label_lines, legend_below
from netlab.charts.theme import (
    CEILING_COLOUR,
    CHART_SIZE_IN,
    COUNT_COLOUR,
    DASHES,
    OTHERS,
    SMALL_CHART_SIZE_IN,
    mtu_styles,
    new_axes,
    other_style,
    second_style,
    text_colour,
    theme,
)
from netlab.congestion import LAWS, mss_B
from netlab.errors import BadInput, require
from netlab.published.claims import DOCUMENTS, counts_of
from netlab.published.claims.model import Verdict
from netlab.published.claims.values import misprints
from netlab.published.layout import (
    GOAL_PERCENT,
    LINK_LIMIT,
    TITLE_OF_DOCUMENT,
    TITLE_OF_SET,
    TITLE_OF_TABLE,
    TUNING_WORDS,
    ceilings,
)
from netlab.published.windows import MTUS_B, path_figures, windows
from netlab.units import MIB

# Charts of the published figures: openlab 2003 and its preliminary notes.

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
    require(value, PRELIMINARY_VALUES, key="value", code="E-CHARTS-006")
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


# Chart of the gigabit articles: rates before and after tuning, and the limits of a host.

_PCI_LIMITS = {
    "PCI 32 bit, 33 MHz, in practice": "PCI 32/33,\nin practice",
    "PCI 32 bit, 33 MHz": "PCI 32/33",
}


@theme()
def before_and_after(*, ax: Axes | None = None) -> Axes:
    """Draw goodput before and after tuning, with the limits of bus and link."""
    wide = published.load("gigabit-tuning").pivot(
        index="document", columns="phase", values="rate_Mbps"
    )
    limits = ceilings().set_index("name")["ceiling_Mbps"]
    ax = ax or new_axes((CHART_SIZE_IN[0], 3.1))
    top = len(TITLE_OF_DOCUMENT) - 1
    rows = {document: top - i for i, document in enumerate(TITLE_OF_DOCUMENT)}
    for document, row in rows.items():
        before, after = wide.loc[document, "before"], wide.loc[document, "after"]
        arrow = {"arrowstyle": "->", "color": COUNT_COLOUR, "shrinkA": 7, "shrinkB": 7}
        ax.annotate("", (after, row), (before, row), arrowprops=arrow)
        for i, (phase, value) in enumerate((("before", before), ("after", after))):
            style = other_style(i) | {"linestyle": "none", "markersize": 9}
            ax.plot(value, row, label=phase if row == top else f"_{phase}", **style)
            ax.annotate(f"{value:g}", (value, row), xytext=(0, 9), textcoords="offset points",
                        ha="center", fontsize=9)  # fmt: skip
        name = LINK_LIMIT[document]
        ax.vlines(limits[name], row - 0.22, row + 0.16, color="black", linewidth=2)
        clear = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(limits[name], row - 0.25, f"{name}: {limits[name]:.0f}", fontsize=8.5,
                va="top", ha="center", bbox=clear)  # fmt: skip
    for name, words in _PCI_LIMITS.items():
        ax.axvline(limits[name], color=CEILING_COLOUR, linestyle=DASHES[1], linewidth=1.2, zorder=0)
        ax.text(limits[name], top + 0.55, f"{words}: {limits[name]:.0f}", fontsize=8.5,
                va="bottom", ha="center", color=CEILING_COLOUR)  # fmt: skip
    ax.set_yticks(
        list(rows.values()), ["\n".join(TITLE_OF_DOCUMENT[d].rsplit(", ", 1)) for d in rows]
    )
    ax.set(xlabel="goodput, Mb/s", xlim=(0, 1200), ylim=(-0.6, top + 0.5))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    legend_below(ax, ncols=2)
    values = "; ".join(
        f"{TITLE_OF_DOCUMENT[d]}: {wide.loc[d, 'before']:g} to {wide.loc[d, 'after']:g}"
        for d in rows
    )
    shown = [*_PCI_LIMITS, *LINK_LIMIT.values()]
    bounds = ", ".join(f"{name} {limits[name]:.0f}" for name in shown)
    alt = f"Goodput before and after tuning in Mb/s. {values}. Limits: {bounds}."
    return describe(ax, alt)


# Charts of the wide-area tests: windows and recovery.

# Scalable and HighSpeed recover within a decade of each other: keep their labels apart.
_LABEL_SIDE = {"Reno": "center", "HighSpeed": "left", "Scalable": "right"}


MOST_POINTS = 300
"""Of a line of window over time: an hour of round trips has 20,000."""

ENOUGH_COLOUR, TOO_SMALL_COLOUR = OTHERS[4], OTHERS[1]


@theme()
def windows_needed_and_given(*, ax: Axes | None = None) -> Axes:
    """Draw the windows on the page as bars, the bandwidth-delay product as a line."""
    figures = path_figures()
    rapid = published.load("slac-2003-rapid").set_index("quantity")["value"]
    given = sorted({int(window) for window in windows()["given_B"].dropna()})
    bars = {f"Tests, {window // MIB} MiB": window / 1e6 for window in given}
    bars["rapid, -S 42543040"] = rapid["sender_buffer"] / 1e6
    bars |= {f"{name}, doubled": 2 * size for name, size in list(bars.items())}
    needed = figures["bdp_B"] / 1e6
    ax = ax or new_axes()
    rows = np.arange(len(bars))[::-1]
    enough = [size >= needed for size in bars.values()]
    colours = [ENOUGH_COLOUR if fits else TOO_SMALL_COLOUR for fits in enough]
    drawn = ax.barh(rows, list(bars.values()), height=0.6, color=colours, edgecolor="white")
    for patch, fits in zip(drawn, enough, strict=True):
        patch.set_hatch("" if fits else "///")
    ax.bar_label(drawn, [f"{size:.0f}" for size in bars.values()], padding=3, fontsize=9)
    ax.axvline(needed, color=CEILING_COLOUR, linestyle=DASHES[1], linewidth=1.4)
    ax.text(needed + 1, rows[0] + 0.62, f"needed, {needed:.0f} MB", fontsize=9, va="center",
            color=CEILING_COLOUR)  # fmt: skip
    ax.set_yticks(rows, list(bars))
    ax.set(
        title="Windows given, and the window the path needs",
        xlabel="Window, MB (hatched: too small for the full rate)",
        ylim=(-0.6, len(bars)),
        xlim=(0, 1.1 * max(bars.values())),
    )
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    values = "; ".join(f"{name} {size:.0f}" for name, size in bars.items())
    return describe(ax, f"Windows in MB against {needed:.0f} needed to fill the path: {values}.")


@theme()
def recovery(mtu_B: int, *, ax: Axes | None = None) -> Axes:
    """Draw the window over time after one loss, a line for each law."""
    figures = path_figures()
    segments = figures["bdp_B"] / mss_B(mtu_B)
    ax = ax or new_axes(SMALL_CHART_SIZE_IN)
    words = []
    for i, law in enumerate(LAWS):
        windows_then = 100 * law.trajectory(segments) / segments
        times_s = np.arange(1, len(windows_then) + 1) * figures["rtt_ms"] / 1000
        # points that are drawn: denser at first, as the axis is logarithmic
        shown = np.unique(np.geomspace(1, len(times_s), MOST_POINTS).round().astype(int)) - 1
        style = other_style(i) | {"markevery": [len(shown) - 1]}
        ax.plot(times_s[shown], np.asarray(windows_then)[shown], label=law.name, **style)
        seconds = law.recovery_s(segments, figures["rtt_ms"])
        words.append(f"{law.name} {seconds:.1f} s")
        digits = 0 if seconds >= 10 else 1
        ax.annotate(
            f"{law.name}\n{seconds:,.{digits}f} s",
            (times_s[-1], 100), xytext=(0, 6), textcoords="offset points",
            ha=_LABEL_SIDE[law.name], va="bottom", fontsize=8.5, color=text_colour(OTHERS[i]),
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set(
        title=f"MTU {mtu_B} B, {segments:,.0f} segments",
        xlabel="Time after the loss, s (logarithmic)",
        ylabel="Window, % of the full path",
        ylim=(40, 122),
        xlim=(0.12, 15_000),
    )
    ax.set_xticks([1, 10, 100, 1000, 10_000], ["1", "10", "100", "1000", "10000"])
    ax.minorticks_off()
    ax.set_yticks([40, 60, 80, 100])
    return describe(
        ax,
        f"Congestion window after one loss on the path at MTU {mtu_B} bytes, "
        f"{segments:.0f} segments. Time back to the full window: {', '.join(words)}.",
    )


def recovery_charts() -> Gallery:
    """One chart of `recovery` for each MTU of the page."""
    return Gallery.of(*(recovery(mtu_B) for mtu_B in MTUS_B))


# Chart of the claims of the documents: how many have which verdict.

COLOURS = {
    Verdict.HOLDS: OTHERS[4],
    Verdict.ROUNDS: OTHERS[2],
    Verdict.CONTRADICTED: OTHERS[1],
    Verdict.NOT_CHECKABLE: COUNT_COLOUR,
}
HATCHES = {Verdict.ROUNDS: "//", Verdict.CONTRADICTED: "xx"}
LEAST_LABELLED = 2
"""Counts from this one on are written on their part of the bar."""


@theme()
def verdicts(found: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the number of claims by verdict, a bar a document."""
    counts = counts_of(found)
    ax = ax or new_axes((6.4, 3.2))
    rows = np.arange(len(counts))
    left = np.zeros(len(counts))
    for verdict, colour in COLOURS.items():
        number = counts[str(verdict)].to_numpy()
        bars = ax.barh(rows, number, left=left, color=colour, edgecolor="white", height=0.65,
                       label=str(verdict), hatch=HATCHES.get(verdict, ""))  # fmt: skip
        texts = [str(n) if n >= LEAST_LABELLED else "" for n in number]
        clear = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.bar_label(bars, texts, label_type="center", fontsize=8.5, bbox=clear)
        left += number
    ax.set_yticks(rows, list(DOCUMENTS.values()))
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", visible=True)
    ax.set(xlabel="claims", title="Claims by verdict")
    legend_below(ax, ncols=len(COLOURS))
    words = "; ".join(
        f"{DOCUMENTS[name]}: " + ", ".join(f"{n} {verdict}" for verdict, n in row.items())
        for name, row in counts.iterrows()
    )
    return describe(ax, f"Bars of the number of claims by verdict, one a document. {words}.")
