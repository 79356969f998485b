"""Charts of the published figures, of the claims about them, and of what is measured beside."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from netlab import bus
from netlab.analysis.printed import unit_of
from netlab.charts import drawing
from netlab.charts.chart import Gallery, describe
from netlab.charts.forest import RATIO, Reach, forest, reach_of
from netlab.congestion import LAWS, mss_B
from netlab.errors import require
from netlab.openlab import published
from netlab.openlab.published.claims import DOCUMENTS, counts_of
from netlab.openlab.published.claims.values import Verdict, misprints
from netlab.openlab.published.data import path_figures, windows
from netlab.openlab.published.layout import (
    GOAL_PERCENT,
    LINK_LIMIT,
    TITLE_OF_DOCUMENT,
    TITLE_OF_SET,
    TITLE_OF_TABLE,
    TUNING_WORDS,
    ceilings,
)
from netlab.openlab.then_and_now import BAND, FLUCTUATION
from netlab.units import MIB

# Charts of the published figures: openlab 2003 and its preliminary notes.

TUNINGS = tuple(TUNING_WORDS)
LIMIT: dict[str, Any] = {
    "color": drawing.CEILING_COLOUR,
    "linestyle": drawing.DASHES[1],
    "linewidth": 1.2,
}
"""Line of a goal or a limit."""
CLEAR = {"facecolor": "white", "edgecolor": "none", "pad": 1}
"""Ground of a text on other marks."""
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


@drawing.theme()
def throughput_by_streams(table: int, tuning: str, *, ax: Axes | None = None) -> Axes:
    """Draw one chart of chapter 4: throughput over streams, one line per MTU."""
    require((table, tuning), PRINTED_CHARTS + MISSING_CHARTS, key="chart", code="E-CHARTS-005")
    whole = published.load("openlab-2003").query("table == @table")
    frame = whole.query("tuning == @tuning")
    hosts = HOSTS_OF_TABLE[table]
    ax = ax or drawing.new_axes(drawing.SMALL_CHART_SIZE_IN)
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


@drawing.theme()
def best_percent_of_bus(*, ax: Axes | None = None) -> Axes:
    """Draw the best cell of every table and tuning, in per cent of PCI-X, with the goal."""
    frame = published.load("openlab-2003")
    best = frame.groupby(["table", "tuning"])["percent_of_bus"].max().unstack()[list(TUNINGS)]
    names = [f"Table {number}: {hosts}" for number, hosts in HOSTS_OF_TABLE.items()]
    ax = ax or drawing.new_axes(drawing.CHART_SIZE_IN)
    rows = list(range(len(best)))[::-1]
    for i, tuning in enumerate(TUNINGS):
        style = drawing.second_style(i) | {"linestyle": "none", "markersize": 8}
        # Some bests are equal: a step down for each tuning keeps all markers visible.
        ax.plot(best[tuning], [row + 0.25 * (1 - i) for row in rows], label=TUNING_WORDS[tuning],
                **style)  # fmt: skip
    ax.axvline(GOAL_PERCENT, **LIMIT)
    ax.text(GOAL_PERCENT - 1, rows[-1] - 0.55, f"goal, {GOAL_PERCENT} %", ha="right", va="center",
            fontsize=9, color=drawing.CEILING_COLOUR)  # fmt: skip
    ax.set(
        title="Best cell of each table and tuning",
        xlabel="Throughput, % of the slower host's PCI-X bandwidth",
        xlim=(0, 100),
        ylim=(rows[-1] - 0.8, rows[0] + 0.6),
    )
    _name_rows(ax, rows, names)
    ax.grid(axis="x", visible=True)
    drawing.legend_below(ax, ncols=len(TUNINGS))
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


def _name_rows(ax: Axes, rows: Sequence[float] | np.ndarray, names: Sequence[str]) -> None:
    ax.set_yticks(rows, names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)


PRELIMINARY_VALUES = {"throughput_MBps": "Total", "per_stream_MBps": "Per stream"}


@drawing.theme()
def preliminary_set(tuning: str, value: str = "throughput_MBps", *, ax: Axes | None = None) -> Axes:
    """Draw one set of the notes over streams, one line per MTU."""
    require(value, PRELIMINARY_VALUES, key="value", code="E-CHARTS-006")
    frame = published.load("openlab-2003-preliminary")
    part = frame[frame["tuning"] == tuning]
    ax = ax or drawing.new_axes(drawing.SMALL_CHART_SIZE_IN)
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
                color=drawing.OTHERS[0], label="_misprint", linestyle="none")  # fmt: skip
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


@drawing.theme()
def burst_efficiency(*, ax: Axes | None = None) -> Axes:
    """Draw the share of PCI-X that carries data over the burst size, modelled by `netlab.bus`."""
    sizes = list(bus.MMRBC_BYTES)
    ax = ax or drawing.new_axes(drawing.CHART_SIZE_IN)
    ends = []
    for i, latency in enumerate((0, 50, 100)):
        values = [100 * bus.pci_x_efficiency(size, latency_clocks=latency) for size in sizes]
        ax.plot(sizes, values, label=f"{latency} idle clocks", **drawing.other_style(i))
        ends.append(f"{latency} idle clocks {values[0]:.0f} to {values[-1]:.0f}")
    ax.axhline(GOAL_PERCENT, **LIMIT)
    ax.text(sizes[0], GOAL_PERCENT - 2, f"goal, {GOAL_PERCENT} %", color=drawing.CEILING_COLOUR,
            fontsize=9, va="top")  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set(
        title="Efficiency of a 64-bit PCI-X bus by burst size (model)",
        xlabel="Maximum memory read byte count (MMRBC), B",
        ylabel="Data clocks, % of all clocks",
        ylim=(0, 103),
    )
    drawing.label_lines(ax)
    alt = "Modelled PCI-X efficiency in per cent from MMRBC 512 to 4096 bytes: "
    return describe(ax, alt + "; ".join(ends))


def _lines(ax: Axes, frame: pd.DataFrame, value: str) -> None:
    for mtu_B, style in drawing.mtu_styles(frame["mtu_B"]).items():
        line = frame[frame["mtu_B"] == mtu_B].sort_values("streams")
        ax.plot(line["streams"].astype(float), line[value], label=f"{mtu_B} B", **style)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    _stream_ticks(ax, frame["streams"], 1.02)
    drawing.label_lines(ax)


def _stream_ticks(ax: Axes, streams: pd.Series, room: float) -> None:
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


# Chart of the gigabit articles: rates before and after tuning, and the limits of a host.

_PCI_LIMITS = {
    "PCI 32 bit, 33 MHz, in practice": "PCI 32/33,\nin practice",
    "PCI 32 bit, 33 MHz": "PCI 32/33",
}


@drawing.theme()
def before_and_after(*, ax: Axes | None = None) -> Axes:
    """Draw goodput before and after tuning, with the limits of bus and link."""
    wide = published.load("gigabit-tuning").pivot(
        index="document", columns="phase", values="rate_Mbps"
    )
    limits = ceilings().set_index("name")["ceiling_Mbps"]
    ax = ax or drawing.new_axes((drawing.CHART_SIZE_IN[0], 3.1))
    top = len(TITLE_OF_DOCUMENT) - 1
    rows = {document: top - i for i, document in enumerate(TITLE_OF_DOCUMENT)}
    for document, row in rows.items():
        before, after = wide.loc[document, "before"], wide.loc[document, "after"]
        arrow = {"arrowstyle": "->", "color": drawing.COUNT_COLOUR, "shrinkA": 7, "shrinkB": 7}
        ax.annotate("", (after, row), (before, row), arrowprops=arrow)
        for i, (phase, value) in enumerate((("before", before), ("after", after))):
            style = drawing.other_style(i) | {"linestyle": "none", "markersize": 9}
            ax.plot(value, row, label=phase if row == top else f"_{phase}", **style)
            ax.annotate(f"{value:g}", (value, row), xytext=(0, 9), textcoords="offset points",
                        ha="center", fontsize=9)  # fmt: skip
        name = LINK_LIMIT[document]
        ax.vlines(limits[name], row - 0.22, row + 0.16, color="black", linewidth=2)
        ax.text(limits[name], row - 0.25, f"{name}: {limits[name]:.0f}", fontsize=8.5,
                va="top", ha="center", bbox=CLEAR)  # fmt: skip
    for name, words in _PCI_LIMITS.items():
        ax.axvline(limits[name], zorder=0, **LIMIT)
        ax.text(limits[name], top + 0.55, f"{words}: {limits[name]:.0f}", fontsize=8.5,
                va="bottom", ha="center", color=drawing.CEILING_COLOUR)  # fmt: skip
    names = ["\n".join(TITLE_OF_DOCUMENT[d].rsplit(", ", 1)) for d in rows]
    _name_rows(ax, list(rows.values()), names)
    ax.set(xlabel="goodput, Mb/s", xlim=(0, 1200), ylim=(-0.6, top + 0.5))
    drawing.legend_below(ax, ncols=2)
    values = "; ".join(
        f"{TITLE_OF_DOCUMENT[d]}: {wide.loc[d, 'before']:g} to {wide.loc[d, 'after']:g}"
        for d in rows
    )
    shown = [*_PCI_LIMITS, *LINK_LIMIT.values()]
    bounds = ", ".join(f"{name} {limits[name]:.0f}" for name in shown)
    return describe(ax, f"Goodput before and after tuning in Mb/s. {values}. Limits: {bounds}.")


# Charts of the wide-area tests: windows and recovery.

# Scalable and HighSpeed recover within a decade of each other: keep their labels apart.
_LABEL_SIDE = {"Reno": "center", "HighSpeed": "left", "Scalable": "right"}


MOST_POINTS = 300
"""Of a line of window over time: an hour of round trips has 20,000."""


@drawing.theme()
def windows_needed_and_given(*, ax: Axes | None = None) -> Axes:
    """Draw the windows on the page as bars, the bandwidth-delay product as a line."""
    figures = path_figures()
    rapid = published.load("slac-2003-rapid").set_index("quantity")["value"]
    given_B = sorted({int(window) for window in windows()["given_B"].dropna()})
    bars = {f"Tests, {window // MIB} MiB": window / 1e6 for window in given_B}
    bars["rapid, -S 42543040"] = rapid["sender_buffer"] / 1e6
    bars |= {f"{name}, doubled": 2 * size for name, size in list(bars.items())}
    needed = figures["bdp_B"] / 1e6
    ax = ax or drawing.new_axes()
    rows = np.arange(len(bars))[::-1]
    fits = [size >= needed for size in bars.values()]
    colours = [drawing.OTHERS[4] if enough else drawing.OTHERS[1] for enough in fits]
    hatches = ["" if enough else "///" for enough in fits]
    drawn = ax.barh(rows, list(bars.values()), height=0.6, color=colours, edgecolor="white",
                    hatch=hatches)  # fmt: skip
    ax.bar_label(drawn, [f"{size:.0f}" for size in bars.values()], padding=3, fontsize=9)
    ax.axvline(needed, **LIMIT | {"linewidth": 1.4})
    ax.text(needed + 1, rows[0] + 0.62, f"needed, {needed:.0f} MB", fontsize=9, va="center",
            color=drawing.CEILING_COLOUR)  # fmt: skip
    _name_rows(ax, rows, list(bars))
    ax.set(
        title="Windows given, and the window the path needs",
        xlabel="Window, MB (hatched: too small for the full rate)",
        ylim=(-0.6, len(bars)),
        xlim=(0, 1.1 * max(bars.values())),
    )
    values = "; ".join(f"{name} {size:.0f}" for name, size in bars.items())
    return describe(ax, f"Windows in MB against {needed:.0f} needed to fill the path: {values}.")


@drawing.theme()
def recovery(mtu_B: int, *, ax: Axes | None = None) -> Axes:
    """Draw the window over time after one loss, a line for each law."""
    figures = path_figures()
    segments = figures["bdp_B"] / mss_B(mtu_B)
    ax = ax or drawing.new_axes(drawing.SMALL_CHART_SIZE_IN)
    words = []
    for i, law in enumerate(LAWS):
        windows_then = 100 * law.trajectory(segments) / segments
        times_s = np.arange(1, len(windows_then) + 1) * figures["rtt_ms"] / 1000
        # points that are drawn: denser at first, as the axis is logarithmic
        shown = np.unique(np.geomspace(1, len(times_s), MOST_POINTS).round().astype(int)) - 1
        style = drawing.other_style(i) | {"markevery": [len(shown) - 1]}
        ax.plot(times_s[shown], np.asarray(windows_then)[shown], label=law.name, **style)
        seconds = law.recovery_s(segments, figures["rtt_ms"])
        words.append(f"{law.name} {seconds:.1f} s")
        digits = 0 if seconds >= 10 else 1
        ax.annotate(
            f"{law.name}\n{seconds:,.{digits}f} s",
            (times_s[-1], 100), xytext=(0, 6), textcoords="offset points",
            ha=_LABEL_SIDE[law.name], va="bottom", fontsize=8.5,
            color=drawing.text_colour(drawing.OTHERS[i]),
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
    alt = (
        f"Congestion window after one loss on the path at MTU {mtu_B} bytes, "
        f"{segments:.0f} segments. Time back to the full window: {', '.join(words)}."
    )
    return describe(ax, alt)


# Chart of the claims of the documents: how many have which verdict.

COLOURS = {
    Verdict.HOLDS: drawing.OTHERS[4],
    Verdict.ROUNDS: drawing.OTHERS[2],
    Verdict.CONTRADICTED: drawing.OTHERS[1],
    Verdict.NOT_CHECKABLE: drawing.COUNT_COLOUR,
}
HATCHES = {Verdict.ROUNDS: "//", Verdict.CONTRADICTED: "xx"}
LEAST_LABELLED = 2
"""Counts from this one on are written on their part of the bar."""


@drawing.theme()
def verdicts(found: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the number of claims by verdict, a bar a document."""
    counts = counts_of(found)
    ax = ax or drawing.new_axes((6.4, 3.2))
    rows = np.arange(len(counts))
    left = np.zeros(len(counts))
    for verdict, colour in COLOURS.items():
        number = counts[str(verdict)].to_numpy()
        bars = ax.barh(rows, number, left=left, color=colour, edgecolor="white", height=0.65,
                       label=str(verdict), hatch=HATCHES.get(verdict, ""))  # fmt: skip
        texts = [str(n) if n >= LEAST_LABELLED else "" for n in number]
        ax.bar_label(bars, texts, label_type="center", fontsize=8.5, bbox=CLEAR)
        left += number
    _name_rows(ax, rows, list(DOCUMENTS.values()))
    ax.invert_yaxis()
    ax.grid(axis="x", visible=True)
    ax.set(xlabel="claims", title="Claims by verdict")
    drawing.legend_below(ax, ncols=len(COLOURS))
    words = "; ".join(
        f"{DOCUMENTS[name]}: " + ", ".join(f"{n} {verdict}" for verdict, n in row.items())
        for name, row in counts.iterrows()
    )
    return describe(ax, f"Bars of the number of claims by verdict, one a document. {words}.")


# A measured study beside the published one: shares of the ceiling, and ratios.

SIDES = {"then": "2003", "now": "measured"}
"""Prefix of the columns of a side -> title of its axes."""

PAIR_SIZE_IN = (5.0, 3.1)
RATIO_WIDTH_IN = 4.9
HEADROOM = 1.1
CLIP_ABOVE_MEAN = 1.25
"""Largest stretch of the axis by an interval, as a factor of the highest mean."""


def beside(cells: pd.DataFrame) -> Gallery:
    """Draw goodput over streams then and now, one chart a group and tuning."""
    groups = [part for _, part in cells[cells["now_percent"].notna()].groupby(["table", "group"])]
    pairs = product(groups, TUNINGS)
    return Gallery.of(*(_pair(part, t) for part, t in pairs if (part["tuning"] == t).any()))


@drawing.theme()
def _pair(whole: pd.DataFrame, tuning: str) -> Figure:
    part = whole[whole["tuning"] == tuning].sort_values("streams")
    group, table = part.iloc[0]["group"], part.iloc[0]["table"]
    whose = f"{group}, {TUNING_WORDS[tuning]}"
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=PAIR_SIZE_IN)
    styles, words = drawing.mtu_styles(whole["mtu_B"]), []
    means = max(whole["now_percent"].max(), whole["then_percent"].max(), 100.0)
    highest = min(whole["now_percent_high"].fillna(0).max(), CLIP_ABOVE_MEAN * means)
    for ax, (side, title) in zip(axes, SIDES.items(), strict=True):
        for mtu_B, line in part.groupby("mtu_B"):
            then, values = line["then_percent"], line[f"{side}_percent"]
            ends = (line["now_percent_low"], line["now_percent_high"])
            if side == "then":
                ends = (then * (1 - FLUCTUATION), then * (1 + FLUCTUATION))
            style: dict[str, Any] = {"style": styles[mtu_B], "ceiling": 100.0}
            drawing.line_with_bars(ax, line["streams"], values, ends, label=f"{mtu_B} B", **style)
            listed = zip(values, line["streams"], strict=True)
            words.append(f"{title}, {mtu_B} B: {', '.join(f'{v:.0f} with {n}' for v, n in listed)}")
        drawing.ceiling_line(ax, 100.0, "ceiling", written=side == "then")
        _stream_ticks(ax, part["streams"], 1.05)
        ax.set(title=title, xlabel="Streams", ylim=(0, HEADROOM * max(means, highest)))
    axes[0].set_ylabel("goodput, % of ceiling")
    fig.suptitle(f"Table {table}: {whose}", x=0.02, ha="left", fontweight="bold", fontsize=10)
    for ax in axes:
        drawing.label_lines(ax, laid_out=ax is not axes[0])
    ceilings = (part.iloc[0]["then_ceiling_MBps"], part["now_ceiling_MBps"].median())
    limits = f"{ceilings[0]:.0f} MB/s in 2003, {ceilings[1]:.0f} MB/s measured"
    alt = (
        f"Line charts side by side on one scale, table {table}, {whose}: goodput in per cent of "
        f"the ceiling ({limits}) by number of streams. {'; '.join(words)}."
    )
    both = ", each of both directions together" if "<->" in group else ""
    return describe(fig, alt, f"Ceiling: {limits}{both}.")


def ratios(compared: pd.DataFrame, factor: str) -> Gallery:
    """Draw the effect of each step of a factor then and now, one chart a step and condition."""
    part = compared[compared["factor"] == factor]
    both = _marks(part, BAND)
    reach = reach_of(both, RATIO) if len(both) else None
    if factor == "direction":  # one pair of groups a step: the tunings make the rows
        charts = [
            (rows, step, rows["where"].tolist()) for step, rows in part.groupby("step", sort=False)
        ]
    else:
        charts = [
            (rows, "\n".join(where), [f"Table {tables}" for tables in rows["tables"]])
            for where, rows in part.groupby(["step", "where"], sort=False)
        ]
    return Gallery.of(*(ratio_forest(*each, reach=reach) for each in charts))


def published_steps(steps: pd.DataFrame, error: float, title: str, of: str) -> Gallery:
    """Draw the effect of each step of a published table beside the measured one."""
    steps = steps[steps["now_ratio"].notna()]
    if steps.empty:
        return Gallery()
    names = [f"{unit_of(row.factor).partition(',')[0]} {row.step}" for row in steps.itertuples()]
    return Gallery.of(ratio_forest(steps, title, names, band=error, of=of))


def ratio_forest(
    rows: pd.DataFrame,
    title: str,
    names: Sequence[str],
    *,
    reach: Reach | None = None,
    band: float = BAND,
    of: str = "goodput",
    ax: Axes | None = None,
) -> Axes:
    """Draw the published and the measured ratio of each row with their intervals."""
    return forest(
        _marks(rows, band, names),
        {label: drawing.side_style(side) for side, label in SIDES.items()},
        f"ratio of {of}, by row on a logarithmic axis; a grey band marks no change",
        title=title,
        quantity="Ratio after / before",
        scale=RATIO,
        reach=reach,
        beside=rows["verdict"].tolist(),
        width_in=RATIO_WIDTH_IN,
        ax=ax,
    )


def _marks(rows: pd.DataFrame, band: float, names: Sequence[str] = ()) -> pd.DataFrame:
    """Both ratios of each row as marks, with what the published one did and the verdict."""
    rows, sides = rows.reset_index(drop=True), []
    for (side, label), word in zip(SIDES.items(), ("said", "verdict"), strict=True):
        columns = {f"{side}_{end}": end for end in ("low", "high")}
        columns |= {f"{side}_ratio": "centre", word: "verdict"}
        marks = rows[list(columns)].rename(columns=columns)
        sides.append(marks.assign(row=names or rows.index, series=label, bound=band))
    return pd.concat(sides).sort_index(kind="stable")
