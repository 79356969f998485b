"""How far generators are from one of them: a dot and an interval each, cell by cell."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from netlab.charts.style import CEILING_COLOUR, MARKERS, PALETTE, Chart, Gallery, apply_style, show

WIDTH_IN, ROW_IN, DOT_IN = 6.2, 0.2, 0.2
CLIP_BEYOND = 2.0
"""An interval may stretch the axis to this many times the farthest dot or bound, and no further."""
HEADROOM = 1.08


def differences(compared: pd.DataFrame, bound_percent: float) -> Gallery:
    """Differences from the reference, one chart a path.

    Parameters
    ----------
    compared : DataFrame
        From :func:`netlab.analysis.agreement.compare`.
    bound_percent : float
        Drawn as a grey band.

    Returns
    -------
    Gallery
        One row a cell, one dot a generator: its colour and its marker both tell which. An
        interval that is cut off by the axis ends in an arrow.
    """
    names = compared["generator"].drop_duplicates().tolist()
    return Gallery(
        tuple(
            _chart(part, path, names, bound_percent)
            for path, part in compared.groupby("path", sort=False)
        )
    )


def _chart(part: pd.DataFrame, path: str, names: list[str], bound_percent: float) -> Chart:
    apply_style()
    part = part.assign(cell=_cells(part))
    cells = part["cell"].drop_duplicates().tolist()
    step = ROW_IN + DOT_IN * len(names)
    fig, ax = plt.subplots(figsize=(WIDTH_IN, 1.5 + step * len(cells)))
    ax.axvspan(-bound_percent, bound_percent, color="#e4e4e4", zorder=0)
    ax.axvline(0, color=CEILING_COLOUR, linewidth=1, zorder=1)
    reach = _reach(part, bound_percent)
    for place, name in enumerate(names):
        rows = part[part["generator"] == name]
        centres = np.array([-cells.index(cell) for cell in rows["cell"]], dtype=float)
        centres -= (place - (len(names) - 1) / 2) * DOT_IN / step
        style = {"color": PALETTE[place + 1], "zorder": 3}
        ax.plot(rows["difference_percent"], centres, MARKERS[place + 1], markersize=6.5,
                markeredgecolor="white", label=name, **style)  # fmt: skip
        for row, y in zip(rows.itertuples(), centres, strict=True):
            _interval(ax, row.low_percent, row.high_percent, y, reach, PALETTE[place + 1])
    ax.set_yticks([-i for i in range(len(cells))], cells)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", visible=True)
    reference = part["reference"].iloc[0]
    ax.set(
        xlim=(-reach, reach),
        ylim=(0.5 - len(cells), 0.5),
        title=f"Path {path}",
        xlabel=f"Goodput against {reference}, %",
    )
    fig.legend(loc="outside lower center", ncols=len(names))
    words = "; ".join(
        f"{row.generator}, {row.cell}: {row.difference_percent:+.1f} %{_span(row)}, {row.verdict}"
        for row in part.itertuples()
    )
    return show(
        fig,
        f"Dots with intervals, path {path}: difference of goodput from {reference} in per cent, "
        f"one row a cell, one dot a generator; a grey band marks {bound_percent:g} % either way. "
        f"{words}.",
    )


def _interval(ax, low: float, high: float, y: float, reach: float, colour: str) -> None:
    if math.isnan(low):
        return
    ax.plot([max(low, -reach), min(high, reach)], [y, y], color=colour, linewidth=1.5, zorder=2)
    for end, mark in ((low, "<"), (high, ">")):
        cut = abs(end) > reach
        ax.plot(
            math.copysign(min(abs(end), reach), end), y, mark if cut else "|", color=colour,
            markersize=5 if cut else 7, zorder=2, clip_on=False,
        )  # fmt: skip


def _cells(part: pd.DataFrame) -> list[str]:
    """What tells the cells of a path apart: always MTU and streams, else what differs."""
    more = [
        name
        for name in ("direction", "tuning", "congestion", "record_length_B", "buffer_B")
        if part[name].nunique() > 1
    ]
    return [
        ", ".join(
            [f"{row['mtu_B']} B", f"{row['streams']} stream{'s' * (row['streams'] != 1)}"]
            + [str(row[name]) for name in more]
        )
        for row in part.to_dict("records")
    ]


def _reach(part: pd.DataFrame, bound_percent: float) -> float:
    """Half the axis: all dots and the band, and the intervals as far as they are not very wide."""
    least = max(part["difference_percent"].abs().max(), bound_percent)
    widest = np.nanmax([least, part["low_percent"].abs().max(), part["high_percent"].abs().max()])
    return HEADROOM * min(widest, CLIP_BEYOND * least)


def _span(row) -> str:
    if math.isnan(row.low_percent):
        return " (no interval)"
    return f" ({row.low_percent:+.1f} to {row.high_percent:+.1f})"
