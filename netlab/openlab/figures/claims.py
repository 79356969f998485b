"""Chart of the claims of the documents: how many have which verdict."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlab.charts import line_labels, looks
from netlab.charts.chart import describe
from netlab.openlab.figures.style import CLEAR, name_rows
from netlab.openlab.published.claims import DOCUMENTS
from netlab.openlab.published.claims.claim import Verdict
from netlab.openlab.published.claims.tables import counts_of

COLOURS = {
    Verdict.HOLDS: looks.OTHERS[4],
    Verdict.ROUNDS: looks.OTHERS[2],
    Verdict.CONTRADICTED: looks.OTHERS[1],
    Verdict.NOT_CHECKABLE: looks.COUNT_COLOUR,
}
HATCHES = {Verdict.ROUNDS: "//", Verdict.CONTRADICTED: "xx"}
LEAST_LABELLED = 2
"""Counts from this one on are written on their part of the bar."""


@looks.theme()
def verdicts(found: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the number of claims by verdict, a bar a document."""
    counts = counts_of(found)
    ax = ax or looks.new_axes((6.4, 3.2))
    rows = np.arange(len(counts))
    left = np.zeros(len(counts))
    for verdict, colour in COLOURS.items():
        number = counts[str(verdict)].to_numpy()
        bars = ax.barh(rows, number, left=left, color=colour, edgecolor="white", height=0.65,
                       label=str(verdict), hatch=HATCHES.get(verdict, ""))  # fmt: skip
        texts = [str(n) if n >= LEAST_LABELLED else "" for n in number]
        ax.bar_label(bars, texts, label_type="center", fontsize=8.5, bbox=CLEAR)
        left += number
    name_rows(ax, rows, list(DOCUMENTS.values()))
    ax.invert_yaxis()
    ax.grid(axis="x", visible=True)
    ax.set(xlabel="claims", title="Claims by verdict")
    line_labels.legend_below(ax, ncols=len(COLOURS))
    words = "; ".join(
        f"{DOCUMENTS[name]}: " + ", ".join(f"{n} {verdict}" for verdict, n in row.items())
        for name, row in counts.iterrows()
    )
    return describe(ax, f"Bars of the number of claims by verdict, one a document. {words}.")
