"""Runs that are measured again."""

from __future__ import annotations

import pytest
import synthetic

from netlab.experiment.remeasured import disturbed, failed, held_up, next_lot
from netlab.study.schedule import cell_of, rounds


@pytest.mark.parametrize(
    ("flags", "is_disturbed"),
    [
        ("", False),
        ("interference", True),
        ("implausible,interference", True),
        ("implausible", False),
        ("stalled,interference", False),
        ("failed", False),
    ],
)
def test_only_runs_that_a_load_alone_explains_are_measured_again(flags, is_disturbed):
    runs = synthetic.runs_of(synthetic.openlab()).head(2)
    runs["flags"] = ["", flags]
    assert disturbed(runs).tolist() == [False, is_disturbed]


def test_runs_whose_ends_got_no_cpu_in_time_are_measured_again():
    runs = synthetic.runs_of(synthetic.openlab()).head(5)
    runs["flags"] = ["failed", "failed,ledger_mismatch,interference", "failed", "stalled", ""]
    closed = "sink: the streams ended before the window did"
    late = "sink: streams did not end in 5000 ms, the sender's watch thread was late by 5.20 s"
    runs["message"] = [closed, f"{late}; foreign CPU load 90 %", "sender: reset", closed, ""]
    assert held_up(runs).tolist() == [True, True, False, False, False]
    assert failed(runs).tolist() == [True, True, True, False, False]


def test_a_lot_has_one_disturbed_run_of_each_of_the_neediest_cells():
    study = synthetic.openlab()
    runs, planned = synthetic.runs_of(study), rounds(study)
    first, second = (visit.runs[0].cell_id for visit in planned[0][:2])
    cell = runs["run_id"].map(cell_of)
    runs.loc[cell == first, ["flags", "message"]] = ["interference", "foreign CPU load 9 %"]
    runs.loc[(cell == second) & (runs["round"] == 2), "flags"] = "interference"
    assert next_lot(runs, planned, {}, study) == {f"{first}@1"}
    tried = {f"{first}@1": 1}
    assert next_lot(runs, planned, tried, study) == {f"{first}@2"}
    # once the first cell has as many valid runs as the second one, both are in need
    runs.loc[(cell == first) & (runs["round"] < 3), "flags"] = ""
    assert next_lot(runs, planned, tried, study) == {f"{first}@3", f"{second}@2"}
    assert next_lot(runs, planned, tried, study, frozenset({second})) == {f"{second}@2"}
    tried |= {f"{first}@3": 1, f"{second}@2": 1}
    assert next_lot(runs, planned, tried, study) == set()
