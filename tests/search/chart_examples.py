"""Arguments of the wing's chart functions."""

from __future__ import annotations

from pathlib import Path

from charts.given import Given, given
from search.autotune.simulated import tuned

from netlab.search.autotune.report import table


def examples(directory: Path) -> dict[str, Given]:
    return {"autotune.search_panels": given(table(tuned()))}
