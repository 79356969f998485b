"""A campaign's message about cells that it could not measure."""

from __future__ import annotations

import synthetic

from netlab.experiment.campaign import disturbed, empty_cells, failed, held_up
from netlab.study.schedule import rounds


def test_a_cell_with_a_valid_run_is_not_empty_and_the_others_give_the_first_reason():
    study = synthetic.openlab()
    first = rounds(study)[0]
    runs = synthetic.runs_of(study)
    assert empty_cells(runs, first) == ()
    failed = runs["run_id"].str.startswith("64-64@full@9000@linux64-to-linux64@4@")
    runs.loc[failed, "flags"] = "failed"
    runs.loc[failed, "message"] = runs.loc[failed, "run_id"].str[-1].map("reason {}".format)
    assert empty_cells(runs, first) == ("64-64@full@9000@linux64-to-linux64@4: reason 1",)
    runs.loc[failed & (runs["round"] == 2), "flags"] = ""
    assert empty_cells(runs, first) == ()


def test_a_cell_without_a_run_was_not_measured():
    study = synthetic.openlab()
    runs = synthetic.runs_of(study, change=synthetic.only(streams=(1, 4, 12)))
    empty = empty_cells(runs, rounds(study)[0])
    assert len(empty) == 35 and all(text.endswith("@20: not measured") for text in empty)


def test_only_runs_with_no_worse_flag_than_interference_are_measured_again():
    runs = synthetic.runs_of(synthetic.openlab()).head(4)
    runs["flags"] = ["", "interference", "interference,stalled", "failed"]
    assert disturbed(runs).tolist() == [False, True, False, False]


def test_runs_whose_ends_got_no_cpu_in_time_are_measured_again():
    runs = synthetic.runs_of(synthetic.openlab()).head(5)
    runs["flags"] = ["failed", "failed,ledger_mismatch,interference", "failed", "stalled", ""]
    closed = "sink: the streams ended before the window did"
    late = "sink: streams did not end in 5000 ms, the sender's watch thread was late by 5.20 s"
    runs["message"] = [closed, f"{late}; foreign CPU load 90 %", "sender: reset", closed, ""]
    assert held_up(runs).tolist() == [True, True, False, False, False]
    assert failed(runs).tolist() == [True, True, True, False, False]
