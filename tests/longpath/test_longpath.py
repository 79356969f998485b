"""The end of slow start and the goodput after it are found in traces."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
import synthetic
from hypothesis import given, settings
from hypothesis import strategies as st
from long_path import STEP_S, intervals_of, trace_of, windows

from netlab.analysis.measured import load_measured
from netlab.analysis.own_report import own_report
from netlab.analysis.shares import rates_over_time, stack_of_stream
from netlab.congestion import HIGHSPEED, LAWS, RENO, SCALABLE
from netlab.errors import NetlabError
from netlab.longpath.analysis import samples_of, single_changes
from netlab.longpath.fairness import fairness
from netlab.longpath.recovery import beside_law, law_growth, recoveries, recovery
from netlab.longpath.series import (
    MOST_POINTS,
    QUANTITIES,
    batched_interval,
    carried,
    seconds_mean,
    thinned,
)
from netlab.longpath.slow_start import after_slow_start, slow_start

RTT_S = 0.183
T_S = STEP_S * np.arange(101)


def trace(top: float, rtt_s: float = RTT_S, **more) -> pd.DataFrame:
    lost_s = more.pop("lost_s", None)
    return trace_of(windows(T_S, rtt_s=rtt_s, top=top, **more), T_S, rtt_s=rtt_s, lost_s=lost_s)


@given(top=st.floats(40, 20_000), rtt_s=st.floats(0.05, 0.4))
def test_slow_start_ends_within_three_round_trips_of_the_last_doubling(top, rtt_s):
    doublings = math.floor(math.log2(top / 10))
    found = slow_start(trace(top, rtt_s))
    true_s = doublings * rtt_s
    if true_s + 4 * rtt_s > T_S[-1]:
        return
    assert found.ended_by == "no more growth"
    assert true_s - STEP_S <= found.end_s <= true_s + 3 * rtt_s + 3 * STEP_S
    assert found.over_s == found.end_s
    assert found.window_segments == pytest.approx(top, abs=1)


def test_slow_start_goes_on_with_growth_and_ends_after_the_retransmissions_of_a_loss():
    found = slow_start(trace(1e12, 0.7))
    assert math.isnan(found.end_s) and found.ended_by == ""
    assert math.isnan(slow_start(trace(500).head(1)).end_s), "one sample has no interval"
    lost_s = 1.85
    frame = trace(5000, lost_s=lost_s)
    frame["retransmits"] = np.clip(np.floor((frame["t_s"] - lost_s) / 0.2 + 1e-9), 0, 4) * 100
    found = slow_start(frame)
    assert found.ended_by == "loss"
    # the last retransmit is counted at 1.85 + 4 * 0.2, and arrives a round trip later
    assert found.over_s == pytest.approx(2.7 + RTT_S, abs=STEP_S)
    found = slow_start(trace(500, lost_s=8.0))
    assert found.ended_by == "no more growth" and found.over_s < 2.5, "long before the loss"


def test_carried_bytes_exclude_those_before_and_the_drain():
    frame = intervals_of(np.r_[np.full(20, 10.0), np.full(30, 800.0), np.full(5, 3.0)])
    frame.loc[frame["t_s"] > 5.0 + 1e-9, "in_window"] = False
    rate = carried(frame, since_s=2.0)
    assert len(rate) == 30
    assert rate["goodput_Mbps"].to_numpy() == pytest.approx(800.0)
    both = pd.concat([intervals_of(np.full(10, 100.0)), intervals_of(np.full(10, 50.0), stream=1)])
    assert carried(both, 0.0)["goodput_Mbps"].to_numpy() == pytest.approx(150.0), "of all streams"


@given(st.integers(0, 10_000))
def test_the_interval_contains_the_mean_of_its_samples(seed):
    values = np.random.default_rng(seed).normal(100, 5, 200)
    mean, half = batched_interval(values, STEP_S, RTT_S, 0.95)
    assert mean == pytest.approx(values.mean())
    assert 0 < half < 10
    mean, half = batched_interval(np.ones(10), STEP_S, RTT_S, 0.95)
    assert mean == 1.0 and math.isnan(half), "too few round trips"
    assert np.isnan(batched_interval(np.empty(0), STEP_S, RTT_S, 0.95)).all()


def test_a_run_has_its_mean_from_the_end_of_slow_start():
    runs = pd.DataFrame({"run_id": ["r", "untraced"]})
    frame = intervals_of(np.r_[np.full(30, 10.0), np.full(70, 2000.0)])
    after = after_slow_start(runs, frame, trace(5000)).set_index("run_id")
    row = after.loc["r"]
    assert 1.6 <= row["since_s"] <= 2.4
    assert 1500 < row["mean_Mbps"] <= 2000
    assert row["after_s"] == pytest.approx(10 - row["since_s"], abs=STEP_S + 0.01)
    assert after.loc["untraced", ["mean_Mbps", "since_s"]].isna().all()


def test_the_stacks_of_a_run_are_dealt_to_its_streams_in_turn():
    dealt = [stack_of_stream("scalable+reno", k) for k in range(3)]
    assert dealt == ["Scalable", "Reno", "Scalable"]
    assert stack_of_stream("fast-small+reno", 2) == "FAST"
    assert stack_of_stream("made-up", 5) == "made-up"


def test_runs_that_differ_in_one_setting_are_found_and_others_are_not():
    rows = [
        ("one", 9000, "3000", "1 2 3", 40 << 20),
        ("longer", 9000, "10000", "1 2 3", 40 << 20),
        ("other", 9000, "10000", "4 5 6", 40 << 20),
        ("smaller", 9000, "3000", "1 2 3", 32 << 20),
        ("frames", 1500, "3000", "1 2 3", 40 << 20),
    ]
    columns = ["run_id", "mtu_B", "txqueuelen", "net.ipv4.tcp_wmem", "buffer_B"]
    runs = pd.DataFrame(rows, columns=columns).assign(sender="a", receive_buffer_B=128 << 20)
    knobs = runs[columns[2:4]].to_dict("records")
    runs["knobs"] = [json.dumps({"a": of_run}) for of_run in knobs]
    pairs = single_changes(runs)
    assert pairs[["factor", "from_run", "to_run"]].to_numpy().tolist() == [
        ["txqueuelen", "one", "longer"],
        ["windows", "one", "smaller"],
        ["memory", "longer", "other"],
    ]
    assert pairs.iloc[1]["to_level"] == "32 M/128 M"


# Shares are those of a run's flows.


def two(first_Mbps, second_Mbps) -> pd.DataFrame:
    rates = np.ones((2, 100)) * [[first_Mbps], [second_Mbps]]
    return pd.concat(intervals_of(rate, warmup_s=2.0, stream=n) for n, rate in enumerate(rates))


def test_shares_over_time_are_running_means_of_each_flow():
    frame = two(300.0, 100.0)
    over = rates_over_time(frame, rtt_s=0.03)
    assert over[0].to_numpy() == pytest.approx(300.0)
    assert over[1].to_numpy() == pytest.approx(100.0)
    assert over["jain"].to_numpy() == pytest.approx(400**2 / (2 * (300**2 + 100**2)))
    assert over.index[0] == pytest.approx(1.0)
    assert rates_over_time(frame, rtt_s=0.5).index[0] == pytest.approx(2.5)
    assert rates_over_time(frame.head(3), rtt_s=0.03).empty


def test_a_run_of_two_flows_has_its_index_in_the_window_and_each_flows_stack():
    runs = pd.DataFrame({"run_id": ["r", "alone"], "streams": [2, 1], "congestion": "fast+reno"})
    frame = two(400.0, 100.0)
    # before the window the other had everything
    frame.loc[(frame["stream"] == 0) & ~frame["in_window"], "bytes"] = 0
    t_s = STEP_S * np.arange(101)
    (row,) = fairness(runs, frame, trace_of(np.ones(101), t_s, rtt_s=0.03)).to_dict("records")
    assert row["flows"] == ["FAST", "Reno"]
    assert row["flows_Mbps"] == pytest.approx([400.0, 100.0])
    assert row["jain_of_means"] == pytest.approx(500**2 / (2 * (400**2 + 100**2)))
    assert 0.5 < row["jain"] < 1 and row["half_width"] >= 0


# Remaining share, growth and recovery time are found for windows that follow a law.

LOSS_S = 4.0


def followed(law, top: float, rtt_s: float, until_s: float) -> pd.DataFrame:
    """A trace of a stream that loses one packet at `top` and then follows a law."""
    t_s = STEP_S * np.arange(round(until_s / STEP_S) + 1)
    window = windows(
        t_s, rtt_s=rtt_s, top=top, loss_s=LOSS_S, kept=law.kept(top), growth=law.growth
    )
    return trace_of(window, t_s, rtt_s=rtt_s, lost_s=LOSS_S + rtt_s)


@settings(max_examples=40, deadline=None)
@given(law=st.sampled_from(LAWS), top=st.floats(60, 600), rtt_s=st.floats(0.03, 0.2))
def test_a_law_that_is_followed_is_found(law, top, rtt_s):
    takes_s = law.recovery_s(top, 1e3 * rtt_s)
    found = recovery(followed(law, top, rtt_s, LOSS_S + takes_s + 3), LOSS_S)
    assert found.before_segments == pytest.approx(top, abs=1)
    expected = beside_law(law.name, found)
    # the first sample of the fallen window may come an interval late
    late = (STEP_S / rtt_s + 2) * law.growth(top) / top
    assert law.kept(top) - 1 / top <= found.kept <= law.kept(top) + late
    assert expected["law_kept"] == pytest.approx(law.kept(top), abs=0.01)
    # back at 99 % of it, seen at samples, and a round trip passes before the loss is known
    near_s = law.growth(top) and (0.02 * top / law.growth(top) + 3) * rtt_s + 3 * STEP_S
    assert found.recovery_s == pytest.approx(takes_s + rtt_s, abs=near_s)
    assert expected["law_recovery_s"] == pytest.approx(takes_s, rel=0.05)


def test_a_recovery_that_is_cut_short_has_no_time_but_the_growth_is_seen():
    found = recovery(followed(RENO, 6400, 0.183, 12.0), LOSS_S)
    assert math.isnan(found.recovery_s)
    assert found.seen_s == pytest.approx(8.0)
    assert found.kept == pytest.approx(0.5, abs=0.001)
    assert found.growth_segments == pytest.approx(1.0, abs=0.05)
    # Reno at 2.5 Gb/s and 183 ms: 3200 round trips
    assert beside_law("Reno", found)["law_recovery_s"] == pytest.approx(585.6, rel=0.01)
    assert np.isnan([*beside_law("FAST", found).values()]).all(), "it has no window law"
    assert law_growth(RENO, 3200.0, 50) == 1.0
    assert law_growth(SCALABLE, 5600.0, 8) == pytest.approx(5600 * (1.01**8 - 1) / 8)
    low, high = HIGHSPEED.growth(4200.0), HIGHSPEED.growth(4600.0)
    assert low < law_growth(HIGHSPEED, 4200.0, 8) < high


def test_a_window_that_did_not_fall_has_no_recovery():
    flat = trace_of(np.full(101, 500.0), T_S, rtt_s=0.183)
    assert [recovery(flat, at_s) for at_s in (LOSS_S, 50.0, -1.0)] == [None] * 3


def test_every_run_with_a_forced_loss_has_a_row():
    rows = {"run_id": ["r", "calm", "two"], "streams": [1, 1, 2], "congestion": "reno"}
    runs = pd.DataFrame({**rows, "forced_loss_s": [LOSS_S, np.nan, LOSS_S]})
    traces = followed(RENO, 300, 0.05, 20.0)
    found = recoveries(runs, pd.concat([traces.assign(run_id=name) for name in rows["run_id"]]))
    assert found["run_id"].tolist() == ["r"]
    assert found.iloc[0]["stack"] == "Reno"
    assert found.iloc[0]["recovery_s"] == pytest.approx(150 * 0.05, rel=0.1)
    assert recoveries(runs.drop(columns="forced_loss_s"), traces).empty


# A study of a long path is loaded by part, with series on common axes.


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
