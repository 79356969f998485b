"""Tables and charts of a study with further factors."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from netlab.analysis import factors, printed
from netlab.analysis.cells import empty
from netlab.analysis.measured import Measured
from netlab.charts.chart import Gallery
from netlab.charts.factors import over_factor
from netlab.files.tables import Table
from netlab.report.tables import UNITS, Sentence, Tables, numbers
from netlab.study.factors import level_text

MOST = 12
"""Tables or charts on one page; the other combinations stand in the tables of the groups."""

QUANTITIES = {"goodput": "goodput_MBps", "percent": "percent_of_bus"}


def of_two(
    m: Measured,
    rows: str,
    columns: str,
    at: Mapping[str, object] | None = None,
    quantity: str = "goodput",
) -> Table:
    """Cells by two factors, at levels of the others; see :func:`netlab.analysis.factors.table`."""
    frame = factors.table(m.cells, rows, columns, at=at, quantity=quantity, study=m.study)
    labels = printed.tuning_labels(m.cells, m.study)
    where = ", ".join(
        factors.level_label(name, level, labels)
        for name, level in (at or {}).items()
        if not isinstance(level, list | tuple)
    )
    caption = f"{factors.unit_of(rows)} by {factors.unit_of(columns)}"
    part = factors.of_two(m.cells, rows, columns, at, m.study)
    unit, notes = UNITS[quantity], printed.interval_notes(part, m.study.confidence)
    notes += printed.cell_notes(part)
    if printed.both_ways(part, m.study):
        unit = unit.replace("of bus", "of twice the bus")
        notes.append(f"{printed.BOTH_WAYS.capitalize()}.")
    return Table(
        frame,
        f"{where + ': ' if where else ''}{caption}, {unit}",
        note=" ".join(notes),
        data=numbers(m, part),
    )


def pages(m: Measured) -> tuple[str, str, list[dict]]:
    """Factors of the axis and of the lines, and the combinations of the others."""
    axis, lines = factors.layout(m.cells, m.study)
    held = (axis, lines) if lines else (axis,)
    return axis, lines, factors.slices(m.cells, held, m.study)


def stack(m: Measured, quantity: str = "goodput") -> Tables:
    """A table of the two factors with the most levels for each combination of the others."""
    axis, lines, each = pages(m)
    if not lines:
        return Tables((Sentence("The cells differ in one factor; the tables of groups show it."),))
    shown = [of_two(m, axis, lines, at, quantity) for at in each[:MOST]]
    return Tables((*shown, *_left_out(each)))


def charts(m: Measured, quantity: str = "goodput", *, most: int = MOST) -> Gallery:
    """A chart of the two factors with the most levels for each combination of the others.

    A combination of empty cells has no chart; the first has one if all are empty.
    """
    axis, lines, each = pages(m)
    y = QUANTITIES[quantity]
    shown = m.cells[~empty(m.cells)]
    drawn = [at for at in each if len(factors.rows_at(shown, at, m.study))] or each[:1]
    return Gallery.of(
        *(over_factor(m.cells, axis, lines, at=at, y=y, study=m.study) for at in drawn[:most])
    )


def levels(m: Measured) -> Table:
    """Factors of the study that vary, with their levels."""
    found = factors.varying(m.cells, m.study)
    rows = [
        {"factor": factors.unit_of(name), "levels": ", ".join(map(level_text, known))}
        for name, known in found.items()
    ]
    return Table(pd.DataFrame(rows, columns=["factor", "levels"]), "Factors and their levels")


def has_factors(m: Measured) -> bool:
    """True if the study crosses anything besides tuning, MTU and streams."""
    return bool(factors.names(m.cells))


def _left_out(each: list[dict]) -> tuple[Sentence, ...]:
    more = len(each) - MOST
    if more <= 0:
        return ()
    return (Sentence(f"{more} further combinations are in the tables of the groups."),)
