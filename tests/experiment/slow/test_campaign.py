"""A campaign's messages about cells that it could not measure, and about runs that failed."""

from __future__ import annotations

import synthetic

from netlab.cli.measuring import _notes, summary
from netlab.experiment.campaign import CampaignOutcome, empty_cells, first_reason
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


def test_the_summary_names_the_first_failed_run_and_its_reason(tmp_path):
    study = synthetic.openlab()
    runs = synthetic.runs_of(study)
    assert first_reason(runs[:0]) == ""
    runs.loc[3, ["flags", "message"]] = ("failed", "sender: connection reset by peer")
    runs.loc[4, "flags"] = "lost_host"
    failed = runs.loc[3:4]
    assert first_reason(failed.loc[4:]) == f"{runs.loc[4, 'run_id']}: lost_host"
    said = f"{runs.loc[3, 'run_id']}: sender: connection reset by peer"
    done = CampaignOutcome(study, tmp_path, 7, 420, 0, failed=2, first_failed=first_reason(failed))
    counts = "420 runs measured in 7 visits, 0 kept from before; 2 failed, 0 flagged"
    assert summary(done) == f"{counts}; the first failed run is {said}"
    flagged = CampaignOutcome(study, tmp_path, 7, 420, 0, flagged=3, flags="stalled 3")
    assert "runs by flag: stalled 3; netlab guide flags says what to do about each" in list(
        _notes(study, flagged)
    )
    fine = CampaignOutcome(study, tmp_path, 7, 420, 0)
    assert list(_notes(study, fine)) == [summary(fine)]
    assert summary(fine) == counts.replace("2 failed", "0 failed")
