"""A measured study beside a published table of the user's own."""

from __future__ import annotations

import pandas as pd

from netlab.analysis import beside as analysis
from netlab.analysis import factors, printed
from netlab.analysis.measured import Measured
from netlab.charts.chart import Gallery
from netlab.charts.then_and_now import published_steps
from netlab.files.tables import Table
from netlab.report.tables import Sentence
from netlab.study.factors import level_text

NOTHING = Sentence("The study names no published table.")


def cells(m: Measured) -> Table | Sentence:
    """Published and measured goodput, cell by cell."""
    table = m.study.published
    if table is None:
        return NOTHING
    pairs = analysis.paired(m)
    if pairs.empty:
        return Sentence(f"{table.title}: no published cell fits exactly one measured cell.")
    rows = pairs.to_dict("records")
    shown = pd.DataFrame(
        {
            **{
                factors.unit_of(name): [level_text(row[name]) for row in rows]
                for name in table.factors
            },
            "published, MB/s": [printed.number(row["then_MBps"]) for row in rows],
            "measured, MB/s": [
                printed.with_interval(row["now_MBps"], row["now_low"], row["now_high"])
                for row in rows
            ],
            "ratio": [f"×{row['now_MBps'] / row['then_MBps']:.2f}" for row in rows],
        }
    )
    left_out = len(table.cells) - len(pairs)
    note = f"Source: {table.source}."
    if left_out:
        note += f" {left_out} published cells fit no single measured cell."
    return Table(shown, f"{table.title}: published and measured", note=note, data=pairs)


def steps(m: Measured) -> Table | Sentence:
    """Effect of each step of a factor in both, and the verdict on its recurrence."""
    table = m.study.published
    if table is None:
        return NOTHING
    frame = analysis.steps(m)
    if frame.empty:
        return Sentence("No two comparable cells differ in one factor alone.")
    shown = pd.DataFrame(
        {
            "factor": [factors.unit_of(name) for name in frame["factor"]],
            "step": frame["step"],
            "cases": frame["cases"],
            "published": [f"×{value:.2f}" for value in frame["then_ratio"]],
            "said": frame["said"],
            "measured": [
                f"×{row.now_ratio:.2f}"
                + ("" if pd.isna(row.low) else f" ({row.low:.2f} to {row.high:.2f})")
                for row in frame.itertuples()
            ],
            "finding": frame["verdict"],
        }
    )
    note = (
        f"Geometric means over the cases. ±{table.fluctuation_percent:g} % is allowed on each "
        f"published cell; the {100 * m.study.confidence:g} % interval of the measured one decides."
    )
    return Table(shown, "Steps of each factor, published and measured", note=note, data=frame)


def picture(m: Measured) -> Gallery:
    """Published and measured effect of each step in one chart; empty without a step."""
    table = m.study.published
    if table is None:
        return Gallery()
    return published_steps(analysis.steps(m), analysis.band(table), table.title)
