"""Arguments of the wing's chart functions."""

from __future__ import annotations

from pathlib import Path

from charts.given import Given, given
from longpath.long_path import loaded


def examples(directory: Path) -> dict[str, Given]:
    lp = loaded(directory)
    return {
        "longpath.goodput_over_time": given(lp, lp.part("comparison", 9000), "Frames"),
        "longpath.goodput_by_run": given(lp, lp.part("configurations"), "Plots"),
    }
