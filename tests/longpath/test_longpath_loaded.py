"""A study of a long path is loaded by part, with series on common axes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import synthetic

from netlab.analysis.measured import load_measured
from netlab.analysis.own_report import own_report
from netlab.errors import NetlabError
from netlab.longpath.analysis import samples_of
from netlab.longpath.series import MOST_POINTS, QUANTITIES, seconds_mean, thinned


def test_the_parts_have_the_studys_runs_in_its_order(lp):
    assert lp.part("comparison")["label"].tolist() == [
        *("Reno", "Reno", "HighSpeed", "HighSpeed"),
        *("Scalable", "Scalable", "FAST", "FAST"),
    ]
    assert lp.part("fairness (scaled down)")["label"].tolist() == [
        *("Reno and Reno", "HighSpeed and HighSpeed", "Scalable and Scalable", "FAST and FAST"),
        *("HighSpeed and Reno", "Scalable and Reno", "FAST and Reno"),
    ]
    assert sorted(lp.part("memory")["label"]) == [
        "FAST with memory settings, buffer_B 0",
        "FAST with memory settings, buffer_B 0",
        "FAST with memory settings, buffer_B 41943040",
    ]
    assert lp.part("comparison", 1500)["mtu_B"].unique().tolist() == [1500]
    assert len(lp.part("configurations")) == 10
    assert len(lp.part("transfer")) and not len(lp.part("fairness"))
    assert lp.short
    assert lp.rtt_ms("wide-area") == pytest.approx(183.022)


def test_a_run_has_every_quantity_over_time(lp):
    run = lp.part("comparison").iloc[0].to_dict()
    series = lp.series(run)
    assert set(series) == set(QUANTITIES)
    assert all(len(frame) for frame in series.values())
    assert series["rtt"]["value"].unique() == pytest.approx([183.022])
    two = lp.part("fairness (scaled down)").iloc[0].to_dict()
    assert set(lp.series(two)["goodput"]["stream"]) == {0, 1}
    assert lp.shares(two)["jain"].iloc[-1] == pytest.approx(1.0)


def test_long_lines_are_thinned_and_keep_their_mean():
    samples = pd.DataFrame({"t_s": np.arange(6000) / 10, "stream": 0, "value": np.arange(6000)})
    few = thinned(samples)
    assert len(few) == MOST_POINTS
    assert few["value"].mean() == pytest.approx(samples["value"].mean())
    assert thinned(samples.head(10))["value"].tolist() == list(range(10))


def test_means_of_a_second_end_with_it_however_late_its_last_sample():
    """The last sample of a run is late by microseconds, one on a busy processor by more."""
    samples = pd.DataFrame({"t_s": np.arange(1, 31) / 10, "value": np.repeat([1.0, 2.0, 9.0], 10)})
    assert seconds_mean(samples).to_numpy().tolist() == [[1, 1], [2, 2], [3, 9]]
    assert seconds_mean(samples.head(25)).to_numpy().tolist()[-1] == [2.5, 9]
    assert seconds_mean(samples.head(24)).to_numpy().tolist() == [[1, 1], [2, 2]]
    assert seconds_mean(samples.head(3)).to_numpy().tolist() == [[0.3, 1]]
    late = samples.assign(t_s=samples["t_s"] + np.tile([0.0004, 0.02], 15))
    assert seconds_mean(late).to_numpy().tolist() == [[1, 1], [2, 2], [3, 9]]


def test_the_slac_study_is_that_one_alone_and_others_have_no_traces_to_read(tmp_path, lp):
    synthetic.store_of(tmp_path / "store", synthetic.foreign(tmp_path))
    other = load_measured(tmp_path / "store", tmp_path / "two-racks.yml")
    assert own_report(other) is None
    assert own_report(lp.measured) is not None
    with pytest.raises(NetlabError, match="trace: true"):
        samples_of(other)
