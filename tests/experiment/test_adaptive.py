"""Cells go on until they are precise; a short budget goes to those that need least."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from openlab_study import OPENLAB

from netlab.experiment.adaptive import look
from netlab.study import load
from netlab.study.durations import VISIT_S, run_s
from netlab.study.schedule import rounds


@pytest.fixture(scope="module")
def study():
    return load(OPENLAB, precision=5)


def runs_of(study, spread: dict[str, float], upto: int = 6, flags: str = "") -> pd.DataFrame:
    """Runs of the first rounds; `spread` gives cells' standard deviations of logarithms."""
    generator = np.random.default_rng(1)
    shape = generator.standard_normal(upto)
    shape = (shape - shape.mean()) / shape.std(ddof=1)
    rows = [
        {
            "run_id": run.run_id,
            "round": run.round,
            "flags": flags,
            "goodput_MBps": 100 * math.exp(spread.get(run.cell_id, 0.001) * shape[number]),
        }
        for number, planned in enumerate(rounds(study)[:upto])
        for visit in planned
        for run in visit.runs
    ]
    return pd.DataFrame(rows)


def cells(study) -> list[str]:
    return [run.cell_id for visit in rounds(study)[0] for run in visit.runs]


def test_narrow_cells_stop_and_wide_ones_go_on(study):
    wide = set(cells(study)[::10])
    found = look(study, runs_of(study, dict.fromkeys(wide, 0.2)), 6, rounds(study)[0], 2)
    assert found.going == wide
    assert (found.cells, found.reached, found.left_out) == (140, 126, 0)
    assert "126 of 140" in found.text and "14 go on" in found.text


def test_no_cell_stops_before_five_rounds_however_narrow_it_looks(study):
    """Of cells that scatter by 10 % those that look narrow after three rounds cover 40 %."""
    first = rounds(study)[0]
    early = look(study, runs_of(study, {}, upto=4), 4, first, 2)
    assert (early.reached, len(early.going)) == (0, 140)
    assert look(study, runs_of(study, {}), 6, first, 3).reached == 140


def test_flagged_runs_do_not_count(study):
    found = look(study, runs_of(study, {}, flags="stalled"), 6, rounds(study)[0], 2)
    assert len(found.going) == 140 and found.reached == 0


def test_a_cell_with_fewer_valid_runs_than_asked_goes_on(study):
    runs = runs_of(study, {})
    one = cells(study)[0]
    runs.loc[runs["run_id"].isin([f"{one}@2", f"{one}@3"]), "flags"] = "interference"
    assert look(study, runs, 6, rounds(study)[0], 2).going == {one}


def test_runs_of_later_rounds_do_not_change_a_look(study):
    whole = runs_of(study, dict.fromkeys(cells(study)[:5], 0.2), upto=12)
    early = whole[whole["round"] <= 6]
    first = rounds(study)[0]
    assert look(study, whole, 6, first, 2) == look(study, early, 6, first, 2)


def test_a_short_budget_goes_to_the_cells_that_need_least(study):
    names = cells(study)
    near, far = set(names[:4]), set(names[4:40])
    spread = dict.fromkeys(near, 0.06) | dict.fromkeys(far, 0.5)
    first = rounds(study)[0]
    budget_s = 2 * 4 * (run_s(study) + VISIT_S)
    found = look(study, runs_of(study, spread), 6, first, 2, budget_s)
    assert near <= found.going and len(found.going) < 40
    assert found.left_out == 40 - len(found.going) > 0 and "budget" in found.text


def test_a_short_budget_goes_first_to_cells_without_an_interval(study):
    names = cells(study)
    runs = runs_of(study, dict.fromkeys(names[:40], 0.04))
    empty = names[7]
    runs.loc[runs["run_id"].str.startswith(f"{empty}@"), "flags"] = "interference"
    budget_s = 2 * (run_s(study) + VISIT_S)
    assert look(study, runs, 6, rounds(study)[0], 2, budget_s).going == {empty}


def test_no_time_left_stops_all(study):
    found = look(study, runs_of(study, dict.fromkeys(cells(study), 0.5)), 6, rounds(study)[0], 2, 0)
    assert found.going == frozenset() and found.left_out == 140
