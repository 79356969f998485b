"""Intervals have their nominal coverage, also of a study that stops early, as in the docs."""

from __future__ import annotations

import re

import coverage_simulation as simulation
import pytest
import step_simulation

from netlab.files.paths import root_dir


def documented(heading: str = simulation.HEADING) -> list[str]:
    """Heading and rows of a table of the documentation."""
    page = (root_dir() / "docs" / "precision.md").read_text(encoding="utf-8")
    table = page[page.index(heading) :].split("\n\n", 1)[0]
    return [line for line in table.splitlines() if re.match(r"\| [\dpr]", line)]


@pytest.mark.parametrize("rounds", simulation.ROUNDS)
def test_fixed_rounds_have_their_nominal_coverage(rounds):
    row = simulation.fixed(rounds)
    assert all(0.93 <= share <= 0.97 for share in row.shares.values()), row
    assert row.line() == documented()[1 + simulation.ROUNDS.index(rounds)]


@pytest.mark.parametrize("case", simulation.ADAPTIVE, ids=str)
def test_adaptive_rounds_have_their_nominal_coverage(case):
    row = simulation.adaptive(*case)
    assert all(0.93 <= share <= 0.975 for share in row.shares.values()), row
    at = 1 + len(simulation.ROUNDS) + simulation.ADAPTIVE.index(case)
    assert row.line() == documented()[at]


def test_the_documented_table_has_a_row_for_each_simulation():
    rows = documented()
    assert rows[0] == simulation.HEADING
    assert len(rows) == 1 + len(simulation.ROUNDS) + len(simulation.ADAPTIVE)


@pytest.mark.parametrize("case", step_simulation.CASES, ids=str)
def test_the_mean_ratio_of_a_step_has_its_nominal_coverage(case):
    row = step_simulation.covered(*case)
    assert all(0.93 <= share <= 0.985 for share in row.shares.values()), row
    rows = documented(step_simulation.HEADING)
    assert row.line() == rows[1 + step_simulation.CASES.index(case)]
    assert len(rows) == 1 + len(step_simulation.CASES)
