"""Percentiles of round trips of cells, from the histograms of all their runs."""

from __future__ import annotations

import pandas as pd

from netlab.analysis.cells import CELL_KEYS, LATENCY, OVER_TCP, ended, valid, with_further
from netlab.results import histogram

HISTOGRAMS = {LATENCY: "rtt_loaded_hdr", OVER_TCP: "tcp_rtt_loaded_hdr"}

PERCENTILES = {
    f"rtt_p{at:g}_us": at for at in (50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999)
}


def with_percentiles(kind: str, cells: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Cells with a histogram: the ``probes`` of all of its runs, and percentiles of them, in us.

    A percentile is missing beyond what the probes carry: 99.9 takes a thousand.
    """
    frame, name = with_further(kind, cells, runs), HISTOGRAMS[kind]
    of_valid, of_ended = (
        {
            key: histogram.merged(texts)
            for key, texts in part.dropna(subset=[name]).groupby(list(CELL_KEYS))[name]
        }
        for part in (valid(runs), ended(runs))
    )
    rows = {}
    for index, cell in frame.iterrows():
        of_cells = of_ended if cell["disturbed"] else of_valid
        if whole := of_cells.get(tuple(cell[list(CELL_KEYS)])):
            probes = whole.get_total_count()
            rows[index] = {"probes": probes, "rtt_max_us": whole.get_max_value()} | {
                column: float(whole.get_value_at_percentile(at))
                for column, at in PERCENTILES.items()
                if probes >= round(100 / (100 - at))
            }
    columns = ["probes", *PERCENTILES, "rtt_max_us"]
    percentiles = pd.DataFrame.from_dict(rows, orient="index")
    return frame.join(percentiles.reindex(columns=columns), how="inner")
