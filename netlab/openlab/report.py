"""Notebooks that stand beside published figures, in the report of a study."""

from __future__ import annotations

from netlab.analysis.measured import Measured
from netlab.openlab.then_and_now import comparable

BESIDE_2003, BESIDE_A_TABLE = "15-then-and-now.ipynb", "20-published-beside.ipynb"
"""Those for studies with cells of the 2003 report's tables, or with a published table."""


def notebooks(m: Measured) -> tuple[str, ...]:
    """Names of the notebooks that apply to a measured study."""
    found = [BESIDE_2003] if len(comparable(m)) else []
    return (*found, BESIDE_A_TABLE) if m.study.published is not None else tuple(found)
