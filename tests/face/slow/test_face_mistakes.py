"""A wrong argument of what `import netlab` shows is refused in a sentence that names it."""

from __future__ import annotations

import pytest
from refusals import refused

import netlab
from netlab.errors import BadInput
from netlab.files import paths

ONE = "Linux64 -> Linux64"
MISTAKES = {
    "quantity of a table": ("E-REPORT-047", lambda r: r.table("mtu_B", "streams", quantity="MB")),
    "bottleneck of two factors": ("E-REPORT-047", lambda r: r.tables.by_factors("bottleneck")),
    "quantity of tables": ("E-REPORT-049", lambda r: r.tables.cells("MB/s")),
    "quantity of charts": ("E-REPORT-048", lambda r: r.charts.by_factors("both")),
    "a list of quantities": ("E-FACE-004", lambda r: r.plot(ONE, y=["goodput_MBps"])),
    "a list of tunings": ("E-FACE-045", lambda r: r.plot(ONE, tuning=["none", "full"])),
    "a list of groups": ("E-ANALYSIS-015", lambda r: r.plot([ONE])),
    "an axis that is no factor": ("E-ANALYSIS-033", lambda r: r.explore(x="stream")),
    "lines that are no factor": ("E-ANALYSIS-033", lambda r: r.explore(hue="mtu")),
    "no axis": ("E-ANALYSIS-033", lambda r: r.plot(ONE, x=None)),
    "rows by a number": ("E-ANALYSIS-033", lambda r: r.table(1500, "streams", group=ONE)),
    "levels as a list": ("E-ANALYSIS-049", lambda r: r.compare(by=["none", "full"])),
    "a bound in words": (
        "E-ANALYSIS-021", lambda r: r.compare(by="tuning=none,full", same_within="5 %"),
    ),
    "one repeat": ("E-FACE-046", lambda r: netlab.compare(r, "sc-2003", repeats="slac-2003")),
    "a bound of agreement": ("E-ANALYSIS-001", lambda r: r.agreement("2 %")),
    "results as a frame": ("E-FACE-044", lambda r: netlab.export(r, "cells.csv")),
    "a list of documents": ("E-FACE-005", lambda r: netlab.document(["slac"])),
}  # fmt: skip


@pytest.fixture(scope="module")
def results():
    return netlab.Results(paths.example("openlab-2003"))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_argument_is_named(results, mistake):
    code, call = MISTAKES[mistake]
    with refused(BadInput, code):
        call(results)
