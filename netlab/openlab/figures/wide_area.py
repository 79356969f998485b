"""Charts of the wide-area tests: windows and recovery."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from netlab.charts import looks
from netlab.charts.chart import describe
from netlab.congestion import LAWS, mss_B
from netlab.openlab import published
from netlab.openlab.figures.style import LIMIT, name_rows
from netlab.openlab.published.wide_area_layout import path_figures, windows
from netlab.units import MIB

# Scalable and HighSpeed recover within a decade of each other: keep their labels apart.
_LABEL_SIDE = {"Reno": "center", "HighSpeed": "left", "Scalable": "right"}

MOST_POINTS = 300
"""Of a line of window over time: an hour of round trips has 20,000."""


@looks.theme()
def windows_needed_and_given(*, ax: Axes | None = None) -> Axes:
    """Draw the windows on the page as bars, the bandwidth-delay product as a line."""
    figures = path_figures()
    rapid = published.load("slac-2003-rapid").set_index("quantity")["value"]
    given_B = sorted({int(window) for window in windows()["given_B"].dropna()})
    bars = {f"Tests, {window // MIB} MiB": window / 1e6 for window in given_B}
    bars["rapid, -S 42543040"] = rapid["sender_buffer"] / 1e6
    bars |= {f"{name}, doubled": 2 * size for name, size in list(bars.items())}
    needed = figures["bdp_B"] / 1e6
    ax = ax or looks.new_axes()
    rows = np.arange(len(bars))[::-1]
    fits = [size >= needed for size in bars.values()]
    colours = [looks.OTHERS[4] if enough else looks.OTHERS[1] for enough in fits]
    hatches = ["" if enough else "///" for enough in fits]
    drawn = ax.barh(rows, list(bars.values()), height=0.6, color=colours, edgecolor="white",
                    hatch=hatches)  # fmt: skip
    ax.bar_label(drawn, [f"{size:.0f}" for size in bars.values()], padding=3, fontsize=9)
    ax.axvline(needed, **LIMIT | {"linewidth": 1.4})
    ax.text(needed + 1, rows[0] + 0.62, f"needed, {needed:.0f} MB", fontsize=9, va="center",
            color=looks.CEILING_COLOUR)  # fmt: skip
    name_rows(ax, rows, list(bars))
    ax.set(
        title="Windows given, and the window the path needs",
        xlabel="Window, MB (hatched: too small for the full rate)",
        ylim=(-0.6, len(bars)),
        xlim=(0, 1.1 * max(bars.values())),
    )
    values = "; ".join(f"{name} {size:.0f}" for name, size in bars.items())
    return describe(ax, f"Windows in MB against {needed:.0f} needed to fill the path: {values}.")


@looks.theme()
def recovery(mtu_B: int, *, ax: Axes | None = None) -> Axes:
    """Draw the window over time after one loss, a line for each law."""
    figures = path_figures()
    segments = figures["bdp_B"] / mss_B(mtu_B)
    ax = ax or looks.new_axes(looks.SMALL_CHART_SIZE_IN)
    words = []
    for i, law in enumerate(LAWS):
        windows_then = 100 * law.trajectory(segments) / segments
        times_s = np.arange(1, len(windows_then) + 1) * figures["rtt_ms"] / 1000
        # points that are drawn: denser at first, as the axis is logarithmic
        shown = np.unique(np.geomspace(1, len(times_s), MOST_POINTS).round().astype(int)) - 1
        style = looks.other_style(i) | {"markevery": [len(shown) - 1]}
        ax.plot(times_s[shown], np.asarray(windows_then)[shown], label=law.name, **style)
        seconds = law.recovery_s(segments, figures["rtt_ms"])
        words.append(f"{law.name} {seconds:.1f} s")
        digits = 0 if seconds >= 10 else 1
        ax.annotate(
            f"{law.name}\n{seconds:,.{digits}f} s",
            (times_s[-1], 100), xytext=(0, 6), textcoords="offset points",
            ha=_LABEL_SIDE[law.name], va="bottom", fontsize=8.5,
            color=looks.text_colour(looks.OTHERS[i]),
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
