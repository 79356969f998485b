"""Every analysis keeps cells of different further and outer factors apart."""

from __future__ import annotations

import pytest
import synthetic
from analysis.crossed_runs import (
    SLOW,
    assert_alone_as_in_all,
    by_level,
    crossed_runs,
    crossed_study,
)

from netlab.analysis import any_factors
from netlab.analysis.bottlenecks import verdicts
from netlab.analysis.cells import CELL_KEYS, LEVELS, Cells
from netlab.analysis.compare import compare
from netlab.analysis.effects import effects
from netlab.analysis.findings import STATEMENTS, findings
from netlab.analysis.tool_agreement import CELL, compare_generators, meters
from netlab.report.agreement_tables import agreement_cells


@pytest.fixture(scope="module")
def study():
    return crossed_study()


@pytest.fixture(scope="module")
def runs(study):
    return crossed_runs(study)


def cells(runs, study):
    frame = Cells.of(study)(runs, None, study)
    return frame[frame["n_valid"] > 0][[*CELL_KEYS, "goodput_MBps", "low_MBps", "n_valid"]]


def compared(runs, study):
    other = runs.assign(goodput_MBps=runs["goodput_MBps"] * (1 + 0.01 * runs["order"] % 7))
    found = compare(runs, other)
    return found.frame.assign(factors=found.frame.get("factors"))[
        [*dict.fromkeys((*found.keys, "factors")), "ratio", "n_a"]
    ]


ANALYSES = {
    "cells": cells,
    "bottlenecks": lambda runs, study: verdicts(runs)[[*CELL_KEYS, "bottleneck", "n"]],
    "effects of streams": lambda runs, study: effects(runs, "streams"),
    "effects of a tuning": lambda runs, study: effects(
        runs, "tuning", levels=tuple(one.name for one in study.tunings)
    ),
    "effects of an MTU": lambda runs, study: effects(runs, "mtu_B"),
    "comparison": compared,
    "agreement": lambda runs, study: compare_generators(runs)[[*CELL, "ratio", "n_a", "n_b"]],
    "meters": lambda runs, study: meters(runs),
}


@pytest.mark.parametrize("name", ANALYSES)
def test_an_analysis_of_all_is_that_of_each_combination_of_factors(runs, study, name):
    lacking = {SLOW} if name == "agreement" else set()
    assert_alone_as_in_all(ANALYSES[name], runs, study, lacking)


def test_a_statement_of_2003_is_tested_in_each_combination_of_factors(runs, study):
    answers = ["yes", "no", "cannot_tell"]
    whole = findings(runs, study)[answers].sum(axis=1)
    parts = [findings(part, study)[answers].sum(axis=1) for part in by_level(runs).values()]
    assert len(whole) == len(STATEMENTS) and whole.sum() > 0
    assert whole.tolist() == sum(parts).tolist()


def test_the_columns_of_a_cell_are_the_same_everywhere():
    assert set(CELL_KEYS) - {"group"} <= set(CELL) and {*LEVELS} <= {*CELL}


def test_a_table_of_agreement_names_the_factors_of_each_row(runs, study):
    from netlab.analysis.tool_agreement import agreement

    found = agreement(synthetic.from_frames(study, runs, None, None))
    shown = agreement_cells(found).frame
    assert set(shown["factors"]) == set(map(any_factors.text_of, set(runs["factors"]) - {SLOW}))
