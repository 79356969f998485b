"""Chart of the claims of the documents: how many have which verdict."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.charts.chart import describe
from netlab.charts.labels import legend_below
from netlab.charts.palette import COUNT_COLOUR, OTHERS
from netlab.charts.theme import new_axes, theme
from netlab.published.claims import DOCUMENTS
from netlab.published.claims.model import Verdict

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
    counts = pd.crosstab(found["document"], found["verdict"])
    counts = counts.reindex(index=list(DOCUMENTS), columns=[str(v) for v in Verdict], fill_value=0)
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
