"""Bottlenecks of runs are by the rules of this netlab, as those of their cells."""

from __future__ import annotations

import face_home
import pandas as pd
import pytest
import synthetic

import netlab
from netlab.analysis.bottlenecks import of_runs, verdicts
from netlab.measure.bottleneck import VERDICTS


@pytest.mark.parametrize("example", ["agreement", "slac-2003"])
def test_most_runs_of_a_cell_have_the_word_of_the_cell(tmp_path, monkeypatch, example):
    """An older netlab measured these, and called some of them otherwise."""
    face_home.home_at(tmp_path, monkeypatch)
    results = netlab.Results(example)
    keys = ["group", "tuning", "mtu_B", "streams", "factors"]
    valid = results.runs[results.runs["flags"] == ""].dropna(subset="goodput_MBps")
    most = valid.astype(dict.fromkeys(keys, object)).groupby(keys, dropna=False)["bottleneck"]
    cells = results.cells.dropna(subset="bottleneck").astype(dict.fromkeys(keys, object))
    for cell in cells.itertuples():
        counts = most.get_group(tuple(getattr(cell, key) for key in keys)).value_counts()
        assert cell.bottleneck in counts[counts == counts.max()].index
    every = netlab.Results(example, superseded=True).runs
    every = every[~every["superseded"]].set_index("run_id")["bottleneck"]
    assert every[valid["run_id"]].tolist() == valid["bottleneck"].tolist()


def test_a_run_without_goodput_keeps_its_word_and_no_record_is_changed(openlab):
    runs = synthetic.runs_of(openlab)
    runs.loc[0, "goodput_MBps"] = None
    before = runs.assign(bottleneck="of before")
    words = of_runs(before)
    assert words[0] == "of before" and set(words[1:]) <= set(VERDICTS)
    assert set(before["bottleneck"]) == {"of before"}
    pd.testing.assert_frame_equal(verdicts(before), verdicts(runs, of_runs(runs)))
