"""Tables and sentences that compare a measured study with a published table of the user's own."""

from __future__ import annotations

import math

from netlab.analysis import any_factors, cell_texts
from netlab.analysis.measured import Measured
from netlab.charts.chart import Gallery
from netlab.files.tables import Table, table_or
from netlab.openlab import published_beside
from netlab.openlab.figures.beside import published_steps
from netlab.report.tables import Sentence
from netlab.study.factors import level_text
from netlab.study.published import quantity_name

NOTHING_BESIDE = Sentence("The study names no published table.")


def cells(m: Measured) -> Table | Sentence:
    """Published and measured goodput, cell by cell."""
    table = m.study.published
    if table is None:
        return NOTHING_BESIDE
    pairs, name = published_beside.paired(m), quantity_name(table.quantity)
    quantity, _, unit = name.rpartition(", ") if ", " in name else (name, "", "")
    heads = [f"{side}{', ' * bool(unit)}{unit}" for side in ("published", "measured")]
    shown = [
        {
            **{any_factors.unit_of(name): level_text(row[name]) for name in table.factors},
            heads[0]: cell_texts.number(row["then"]),
            heads[1]: cell_texts.with_interval(
                *(row[name] for name in ("now", "now_low", "now_high"))
            ),
            "ratio": f"×{row['now'] / row['then']:.2f}" if row["then"] else cell_texts.MISSING,
            "rounds": row["rounds"],
        }
        for row in pairs.to_dict("records")
    ]
    left_out = len(table.cells) - len(pairs)
    note = f"{quantity[0].upper()}{quantity[1:]}. Source: {table.source}."
    if left_out:
        note += f" {left_out} published cells fit no single measured cell. {missing(m)}"
    none = f"{table.title}: no published cell fits exactly one measured cell. {missing(m)}".strip()
    return table_or(none, shown, f"{table.title}: published and measured", note=note, data=pairs)


MOST_MISSING = 5


def missing(m: Measured) -> str:
    """Sentence on what keeps published cells and ratios from a verdict; empty if nothing does."""
    reasons = published_beside.missing_beside(m)
    if not reasons:
        return ""
    more = f", and {len(reasons) - MOST_MISSING} more" * (len(reasons) > MOST_MISSING)
    return f"Missing: {'; '.join(reasons[:MOST_MISSING])}{more}."


def steps(m: Measured) -> Table | Sentence:
    """Effect of each step of a factor in both, and the verdict on it."""
    table = m.study.published
    if table is None:
        return NOTHING_BESIDE
    frame = published_beside.steps_beside(m)
    shown = [
        {
            "factor": ", ".join(map(any_factors.unit_of, row["factor"].split(", "))),
            "step": row["step"],
            "cases": row["cases"],
            "published": f"×{row['then_ratio']:.2f}",
            "said": row["said"],
            "measured": any_factors.ratio_text(
                *(row[name] for name in ("now_ratio", "now_low", "now_high"))
            )
            if not math.isnan(row["now_ratio"])
            else cell_texts.MISSING,
            "finding": row["verdict"],
            "missing": row["missing"],
        }
        for row in frame.to_dict("records")
    ]
    note = (
        f"Geometric means over the cases. ±{table.fluctuation_percent:g} % is allowed on each "
        f"published cell. A step holds if the {100 * m.study.confidence:g} % interval of the "
        "measured one reaches the published size within that; below three rounds none is judged."
    )
    none = f"No two comparable cells differ in one factor alone. {missing(m)}".strip()
    if frame["missing"].eq("").all():
        shown = [{k: v for k, v in row.items() if k != "missing"} for row in shown]
    caption = "Steps of each factor, published and measured"
    return table_or(none, shown, caption, note=note, data=frame)


def picture(m: Measured) -> Gallery:
    """Published and measured effect of each step in one chart; empty without a step."""
    table = m.study.published
    if table is None:
        return Gallery()
    of = quantity_name(table.quantity).partition(", ")[0]
    return published_steps(
        published_beside.steps_beside(m), published_beside.band(table), table.title, of
    )
