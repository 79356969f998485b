"""Notebooks that stand beside published figures, and what opens a report of published steps."""

from __future__ import annotations

from netlab.analysis.measured import Measured
from netlab.analysis.own_report import Opening
from netlab.openlab import own_table, sentences
from netlab.openlab.then_and_now import comparable

BESIDE_2003, BESIDE_A_TABLE = "15-then-and-now.ipynb", "20-published-beside.ipynb"
"""Those for studies with cells of the 2003 report's tables, or with a published table."""


def notebooks(m: Measured) -> tuple[str, ...]:
    """Names of the notebooks that apply to a measured study."""
    found = [BESIDE_2003] if len(comparable(m)) else []
    return (*found, BESIDE_A_TABLE) if m.study.published is not None else tuple(found)


def opening(m: Measured) -> Opening | None:
    """The number of published steps that hold, and their chart, where a study states steps."""
    table = m.study.published
    if table is None or not table.steps:
        return None
    said = str(sentences.published_beside(m))
    return Opening(f"{table.title}: {said[0].lower()}{said[1:]}", own_table.picture)
