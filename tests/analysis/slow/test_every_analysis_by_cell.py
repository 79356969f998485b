"""Every analysis keeps cells of different further and outer factors apart."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import synthetic
from lab_study import lab_study

from netlab.analysis import any_factors
from netlab.analysis.bottlenecks import verdicts
from netlab.analysis.cells import CELL_KEYS, LEVELS, Cells, usable
from netlab.analysis.compare import compare
from netlab.analysis.effects import effects
from netlab.analysis.findings import STATEMENTS, findings
from netlab.analysis.tool_agreement import CELL, compare_generators, meters
from netlab.fleet.links import link_cells
from netlab.fleet.records import COMPARED, KEYS
from netlab.report.agreement_tables import agreement_cells
from netlab.study import Study
from netlab.study.schedule import cell_of

GROUPS = [
    {"name": "one", "path": "a-b", "sender": "a"},
    {"name": "two", "path": "a-b", "sender": "a", "generator": "iperf3"},
]
TUNINGS = [
    {"name": name, "mtus_B": [1500, 9000], "knobs": []} for name in ("plain", "kernel", "full")
]
SLOW = '{"rtt_ms":10.0,"kernel":"up"}'
"""A tenth of the goodput of the others; pooled with them it changes every mean."""


@pytest.fixture(scope="module")
def study():
    content = lab_study().model_dump(mode="json")
    content |= {"groups": GROUPS, "tunings": TUNINGS, "streams": [1, 4]}
    content |= {"factors": {"rtt_ms": [0, 10]}, "outer": {"kernel": ["smp", "up"]}}
    content["timing"] = {"rounds": 4, "seconds": 0.5}
    return Study.model_validate(content)


@pytest.fixture(scope="module")
def runs(study):
    """Runs of which iperf3, many streams, one tuning and one MTU each failed in the slow cells."""

    def change(row):
        slow = json.loads(row["factors"]) == json.loads(SLOW)
        row["goodput_MBps"] *= 0.1 if slow else 1
        lost = row["generator"] == "iperf3" or (row["streams"] == 4 and row["tuning"] == "kernel")
        row["flags"] = "failed" if slow and lost else ""

    made = synthetic.runs_of(study, change=change)
    assert set(made["factors"].map(json.loads).map(len)) == {2}
    return made


def by_level(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return dict(list(runs.groupby("factors")))


def cells(runs, study):
    frame = Cells.of(study)(runs, None, study)
    return frame[frame["n_valid"] > 0][[*CELL_KEYS, "goodput_MBps", "low_MBps", "n_valid"]]


def compared(runs, study):
    other = runs.assign(goodput_MBps=runs["goodput_MBps"] * (1 + 0.01 * runs["order"] % 7))
    found = compare(runs, other)
    return found.frame.assign(factors=found.frame.get("factors"))[
        [*dict.fromkeys((*found.keys, "factors")), "ratio", "n_a"]
    ]


def of_links(runs, study):
    of_cell = {cell_of(row.run_id): row.factors for row in runs.itertuples()}
    frame = link_cells(runs)
    return frame.assign(factors=frame["cell"].map(of_cell))[["cell", "factors", "goodput_MBps"]]


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
    "fleet": of_links,
}


@pytest.mark.parametrize("name", ANALYSES)
def test_an_analysis_of_all_is_that_of_each_combination_of_factors(runs, study, name):
    analysis = ANALYSES[name]
    whole = analysis(runs, study)
    assert len(whole) and set(whole["factors"]) == set(usable(runs)["factors"]) - (
        {SLOW} if name == "agreement" else set()
    )
    for factors, part in by_level(runs).items():
        alone = analysis(part.reset_index(drop=True), study)
        mine = whole[whole["factors"] == factors]
        alone = alone.assign(factors=factors)[[c for c in mine if c in alone or c == "factors"]]
        order = [c for c in alone if alone[c].dtype.kind not in "fF"]
        mine, alone = (frame[[*alone]].sort_values(order) for frame in (mine, alone))
        pd.testing.assert_frame_equal(
            mine.reset_index(drop=True), alone.reset_index(drop=True), check_dtype=False
        )


def test_a_statement_of_2003_is_tested_in_each_combination_of_factors(runs, study):
    answers = ["yes", "no", "cannot_tell"]
    whole = findings(runs, study)[answers].sum(axis=1)
    parts = [findings(part, study)[answers].sum(axis=1) for part in by_level(runs).values()]
    assert len(whole) == len(STATEMENTS) and whole.sum() > 0
    assert whole.tolist() == sum(parts).tolist()


def test_the_columns_of_a_cell_are_the_same_everywhere():
    for keys in (CELL_KEYS, CELL, COMPARED, KEYS):
        assert set(CELL_KEYS) - {"group"} <= set(keys)
    assert {*LEVELS} <= {*CELL} and {*LEVELS} <= {*COMPARED}


def test_a_table_of_agreement_names_the_factors_of_each_row(runs, study):
    from netlab.analysis.tool_agreement import agreement

    found = agreement(synthetic.from_frames(study, runs, None, None))
    shown = agreement_cells(found).frame
    assert set(shown["factors"]) == set(map(any_factors.text_of, set(runs["factors"]) - {SLOW}))
