"""A campaign's message about cells that it could not measure."""

from __future__ import annotations

import synthetic

from netlab.experiment.campaign import empty_cells
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
