"""Runs become cells with intervals, and every exclusion is reported."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import synthetic
from scipy import stats

from netlab.analysis import cell_texts
from netlab.analysis.batches import batch_interval, window_rates
from netlab.analysis.cells import (
    FROM_NOTHING,
    FROM_ROUNDS,
    FROM_RUN,
    Cells,
    disturbed,
    empty,
    mean_interval,
)
from netlab.errors import BadInput


def _cell(cells, **levels):
    for name, value in levels.items():
        cells = cells[cells[name] == value]
    assert len(cells) == 1
    return cells.iloc[0]


def test_the_openlab_study_has_140_cells_of_three_repeats(runs, openlab, foreign):
    cells = Cells()(runs, study=openlab)
    assert len(cells) == 140
    assert (cells["n_valid"] == 3).all() and (cells["interval_from"] == FROM_ROUNDS).all()
    assert cells.groupby("table").size().to_dict() == dict.fromkeys(range(2, 7), 28)
    stray = runs.head(1).assign(streams=7)
    cells = Cells()(pd.concat([runs, stray], ignore_index=True), study=openlab)
    assert len(cells) == 141 and cells.iloc[-1]["streams"] == 7, "one outside the design is added"
    without_bus = Cells()(synthetic.runs_of(foreign), study=foreign)
    assert without_bus[["percent_of_bus", "table"]].isna().all(axis=None)
    assert without_bus["goodput_MBps"].notna().all()


def test_a_cell_is_the_geometric_mean_with_a_student_t_interval_of_logarithms(runs, openlab):
    cell = _cell(
        Cells()(runs, study=openlab),
        group="Linux64 -> Linux64",
        tuning="none",
        mtu_B=9000,
        streams=4,
    )
    part = runs[(runs.group == cell.group) & (runs.tuning == "none") & (runs.mtu_B == 9000)]
    values = part[part.streams == 4]["goodput_MBps"].to_numpy()
    logs = np.log(values)
    low, high = np.exp(stats.t.interval(0.95, 2, loc=logs.mean(), scale=stats.sem(logs)))
    mean = np.exp(logs.mean())
    assert cell.goodput_MBps == pytest.approx(mean)
    assert (cell.low_MBps, cell.high_MBps) == (pytest.approx(low), pytest.approx(high))
    assert cell.percent_of_bus == pytest.approx(100 * mean / 2128.0)
    assert cell.percent_high == pytest.approx(100 * high / 2128.0)


def test_about_95_of_100_intervals_hold_the_true_mean():
    rng = np.random.default_rng(7)
    found = [mean_interval(rng.normal(500, 20, size=3), 0.95) for _ in range(1000)]
    assert 925 <= sum(abs(mean - 500) <= half for mean, half in found) <= 975


def test_flagged_runs_are_left_out_and_counted_and_one_without_a_number_is_not_valid(openlab):
    flagged = {"flags": "interference", "goodput_MBps": 1.0, "message": "foreign load"}
    change = synthetic.setting(flagged, round=(2,), streams=(1,))
    levels = {"group": "Linux64 -> Linux64", "tuning": "none", "mtu_B": 1500, "streams": 1}
    cell = _cell(Cells()(synthetic.runs_of(openlab, change=change), study=openlab), **levels)
    assert (cell.n_valid, cell.n_flagged) == (2, 1)
    assert cell.goodput_MBps > 300
    spoilt = synthetic.setting({"goodput_MBps": math.nan}, round=(1,))
    cells = Cells()(synthetic.runs_of(openlab, change=spoilt), study=openlab)
    assert (cells["n_valid"] == 2).all() and cells["goodput_MBps"].notna().all()


def test_a_cell_of_flagged_runs_alone_has_their_median_and_flags_and_no_goodput(openlab):
    def flag(row):
        if row["streams"] == 20:
            flags = "interference" if row["round"] < 3 else "interference,stalled"
            row |= {"flags": flags, "goodput_MBps": 100.0 * row["round"] ** 2}

    cells = Cells.of(openlab)(synthetic.runs_of(openlab, change=flag), study=openlab)
    hollow, others = cells[cells.streams == 20], cells[cells.streams != 20]
    assert set(hollow["disturbed"]) == {"interference, stalled"}
    assert (hollow["disturbed_MBps"] == 400).all() and (hollow["n_flagged"] == 3).all()
    assert (hollow["n_valid"] == 0).all() and not empty(hollow).any()
    assert set(hollow["missing_because"]) == {"3 runs, all flagged: interference, stalled"}
    assert (hollow["interval_from"] == FROM_NOTHING).all()
    results = ["goodput_MBps", "low_MBps", "high_MBps", "half_width_percent", "percent_of_bus"]
    assert hollow[results].isna().all(axis=None)
    assert (others["disturbed"] == "").all() and others["disturbed_MBps"].isna().all()
    shares = disturbed(hollow, "percent_of_bus")
    assert shares.tolist() == (100 * 400 / hollow["bus_MBps"]).tolist()


def test_a_cell_is_not_disturbed_by_some_flagged_runs_and_is_empty_if_none_ended(openlab):
    changes = (
        synthetic.setting({"flags": "interference"}, round=(1,)),
        # its goodput is of a part of the window
        synthetic.setting({"flags": "failed,interference"}, streams=(20,)),
        synthetic.setting(
            {"flags": "failed", "goodput_MBps": math.nan}, streams=(12,), round=(2, 3)
        ),
    )
    runs = synthetic.runs_of(openlab, change=lambda row: [change(row) for change in changes])
    cells = Cells()(runs, study=openlab)
    by_streams = dict(list(cells.groupby("streams")))
    for streams in (1, 4):
        assert (by_streams[streams]["n_valid"] == 2).all()
        assert (by_streams[streams]["disturbed"] == "").all()
    assert set(by_streams[12]["disturbed"]) == {"interference"}, "of the one run that ended"
    assert empty(by_streams[20]).all() and (by_streams[20]["disturbed"] == "").all()
    assert len(cells) == 140 and empty(cells).sum() == 35


def test_cells_that_were_never_measured_are_named_so(openlab):
    runs = synthetic.runs_of(openlab, change=synthetic.only(tuning=("none",)))
    cells = Cells()(runs, study=openlab)
    missing = cells[cells["missing_because"] == "not measured"]
    assert len(cells) == 140 and set(missing["tuning"]) == {"kernel", "full"}
    cells = Cells()(runs.head(0), study=openlab)
    assert len(cells) == 140 and set(cells["missing_because"]) == {"not measured"}


def test_one_run_has_an_interval_within_it_and_none_over_rounds(openlab):
    change = synthetic.only(round=(1,), group=("Linux64 <-> Linux64",), streams=(1, 4))
    runs = synthetic.runs_of(openlab, change=change)
    cells = Cells()(runs, synthetic.intervals_of(runs, openlab), openlab)
    measured = cells[cells["n_valid"] == 1]
    assert len(measured) == 14 and (measured["interval_from"] == FROM_RUN).all()
    assert (measured["within_low_MBps"] < measured["goodput_MBps"]).all()
    assert (measured["within_high_MBps"] > measured["goodput_MBps"]).all()
    ends = ["low_MBps", "high_MBps", "half_width_MBps", "percent_low", "percent_high"]
    assert measured[ends].isna().all(axis=None)
    assert not any("±" in text for text in cell_texts.texts(measured, "both"))
    both = measured.merge(runs, on=["group", "tuning", "mtu_B", "streams"], suffixes=("", "_run"))
    assert both["goodput_MBps"].tolist() == pytest.approx(both["goodput_MBps_run"].tolist())
    without = Cells()(runs, None, openlab)
    assert (without[without["n_valid"] == 1]["interval_from"] == FROM_NOTHING).all()
    assert without["within_low_MBps"].isna().all()


def test_window_rates_sum_streams_and_directions_and_skip_the_warm_up(openlab):
    only = synthetic.only(group=("Linux64 <-> Linux64",), streams=(4,), round=(1,))
    runs = synthetic.runs_of(openlab, change=only).head(1)
    samples = synthetic.intervals_of(runs, openlab, noise=0)
    rates, whole = window_rates(samples).to_numpy(), np.full(4, runs["goodput_MBps"].iloc[0])
    assert rates == pytest.approx(whole, rel=1e-5)
    # a sample that a stream lacks does not lower the sum
    last = samples[(samples.stream == 2) & (samples.t_s == samples.t_s.max())].index[:1]
    assert window_rates(samples.drop(last)).to_numpy() == pytest.approx(whole[:3], rel=1e-5)


def test_batches_are_wider_than_samples_taken_for_independent():
    walk, steps = [0.0], np.random.default_rng(3).normal(size=199)
    for step in steps:
        walk.append(0.9 * walk[-1] + step)
    values = 500 + np.array(walk)
    assert batch_interval(values, 0.95).half_width > 1.5 * mean_interval(values, 0.95)[1]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_samples_give_no_interval(n):
    assert math.isnan(batch_interval(np.full(n, 5.0), 0.95).low)


@pytest.mark.parametrize("confidence", [0.5, 1.0, 95, math.nan])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(BadInput, match="confidence"):
        Cells(confidence=confidence)
