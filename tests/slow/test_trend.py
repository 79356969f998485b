"""Campaigns of one directory beside one another, with the steps between them."""

from __future__ import annotations

import pytest
import synthetic

from netlab.analysis.measured import load_measured, trend
from netlab.results import store as results_store
from netlab.results.store import CampaignLog, Store
from netlab.study.file import freeze

IDS = ("20260101T000000Z", "20260102T000000Z", "20260103T000000Z")


def directory_of(tmp_path, study, factors):
    """Results of one campaign a factor, whose goodput is multiplied by it."""
    store = Store(tmp_path)
    for number, (campaign, factor) in enumerate(zip(IDS, factors, strict=False)):
        freeze(study, results_store.folder(tmp_path, campaign))
        log = CampaignLog(campaign, "k", "2026-01-01T00:00:00", study.name, study.digest(), "0.1.0")
        results_store.write_log(tmp_path, log)
        runs = synthetic.runs_of(study, seed=number)
        runs = runs.assign(campaign=campaign, goodput_MBps=runs["goodput_MBps"] * factor)
        runs = runs.astype({"campaign": "string"})
        for block_id, part in runs.groupby("block_id"):
            name = results_store.part_name(campaign, f"{block_id}@r1", store.parts())
            store.write(name, part, synthetic.intervals_of(part.head(0), study))
    return load_measured(tmp_path)


def test_a_step_is_found_between_the_campaigns_that_differ(tmp_path):
    m = directory_of(tmp_path, synthetic.openlab(), (1.0, 1.0, 0.9))
    frame = trend(m)
    assert frame["campaign"].tolist() == list(IDS)
    assert frame["step"].tolist() == [False, False, True]
    assert frame["ratio"].iloc[2] == pytest.approx(0.9, rel=0.01)
    assert frame["level"].iloc[2] == pytest.approx(0.9, rel=0.01)
    assert (frame["common"] == [0, 140, 140]).all()
    assert frame["low"].iloc[2] < frame["ratio"].iloc[2] < frame["high"].iloc[2]


def test_results_without_campaigns_have_no_trend(tmp_path):
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    assert trend(load_measured(tmp_path / "store", tmp_path / "two-racks.yml")).empty
