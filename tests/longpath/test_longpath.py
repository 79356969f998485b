"""The end of slow start and the goodput after it are found in traces."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from longpath.long_path import STEP_S, intervals_of, trace_of, windows

from netlab.analysis.shares import stack_of_stream
from netlab.congestion import HIGHSPEED, LAWS, RENO, SCALABLE
from netlab.longpath.analysis import single_changes
from netlab.longpath.recovery import beside_law, law_growth, recoveries, recovery
from netlab.longpath.series import batched_interval, carried
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
