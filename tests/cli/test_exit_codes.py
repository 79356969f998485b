"""Exit codes of measuring commands: 1 only where something failed, 4 where the machine was busy."""

from __future__ import annotations

import math

import pytest
import synthetic

from netlab.cli.guard import BELOW_GATE
from netlab.cli.measuring import exit_code
from netlab.experiment.campaign import CampaignOutcome
from netlab.study.frozen import freeze

BUSY = {"flags": "interference", "message": "foreign CPU load 40 %"}
FAILED = {"flags": "failed", "message": "no sink", "goodput_MBps": math.nan}


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        ({}, 0),
        ({1: BUSY}, BELOW_GATE),
        ({1: BUSY, 64: BUSY}, BELOW_GATE),
        ({1: None}, BELOW_GATE),
        ({1: FAILED}, 1),
        ({1: BUSY, 64: FAILED}, 1),
    ],
    ids=["valid", "one disturbed", "all disturbed", "not measured", "failed", "both"],
)
def test_a_cell_without_a_valid_run_ends_a_campaign_with_4_or_1(tmp_path, capsys, spoil, code):
    def change(row):
        spoilt = spoil.get(row["streams"], {})
        row |= spoilt or {}
        return spoilt is not None

    study = synthetic.foreign(tmp_path)
    runs = synthetic.runs_of(study, change=change)
    synthetic.store_of(tmp_path / "results", study, runs)
    freeze(study, tmp_path / "results")
    without = tuple(f"cell of {streams}: a reason" for streams in spoil)
    campaign = CampaignOutcome(study, tmp_path / "results", 1, 2, 0, empty_cells=without)
    assert exit_code(campaign) == code
    assert ("no valid run, the first is cell of 1" in capsys.readouterr().err) == (code > 0)
