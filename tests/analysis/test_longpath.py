"""The end of slow start and the goodput after it are found in traces."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from long_path import STEP_S, intervals_of, trace_of, windows

from netlab.analysis.longpath import (
    after_slow_start,
    batched_interval,
    carried,
    single_changes,
    slow_start,
    stack_of_stream,
)

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


def test_a_window_that_grows_to_the_end_is_still_in_slow_start():
    found = slow_start(trace(1e12, 0.7))
    assert math.isnan(found.end_s) and found.ended_by == ""


def test_a_loss_ends_slow_start_after_its_retransmissions():
    lost_s = 1.85
    frame = trace(5000, lost_s=lost_s)
    frame["retransmits"] = np.clip(np.floor((frame["t_s"] - lost_s) / 0.2 + 1e-9), 0, 4) * 100
    found = slow_start(frame)
    assert found.ended_by == "loss"
    # the last retransmit is counted at 1.85 + 4 * 0.2, and arrives a round trip later
    assert found.over_s == pytest.approx(2.7 + RTT_S, abs=STEP_S)


def test_a_loss_long_after_slow_start_is_none_of_it():
    found = slow_start(trace(500, lost_s=8.0))
    assert found.ended_by == "no more growth"
    assert found.over_s < 2.5


def test_one_sample_has_no_interval():
    assert math.isnan(slow_start(trace(500).head(1)).end_s)


def test_carried_bytes_exclude_those_before_and_the_drain():
    frame = intervals_of(np.r_[np.full(20, 10.0), np.full(30, 800.0), np.full(5, 3.0)])
    frame.loc[frame["t_s"] > 5.0 + 1e-9, "in_window"] = False
    rate = carried(frame, since_s=2.0)
    assert len(rate) == 30
    assert rate["goodput_Mbps"].to_numpy() == pytest.approx(800.0)


def test_streams_are_added_up():
    both = pd.concat([intervals_of(np.full(10, 100.0)), intervals_of(np.full(10, 50.0), stream=1)])
    assert carried(both, 0.0)["goodput_Mbps"].to_numpy() == pytest.approx(150.0)


@given(st.integers(0, 10_000))
def test_the_interval_contains_the_mean_of_its_samples(seed):
    values = np.random.default_rng(seed).normal(100, 5, 200)
    mean, half = batched_interval(values, STEP_S, RTT_S, 0.95)
    assert mean == pytest.approx(values.mean())
    assert 0 < half < 10


def test_too_few_round_trips_have_a_mean_and_no_interval():
    mean, half = batched_interval(np.ones(10), STEP_S, RTT_S, 0.95)
    assert mean == 1.0 and math.isnan(half)
    assert all(math.isnan(value) for value in batched_interval(np.empty(0), STEP_S, RTT_S, 0.95))


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
    assert [stack_of_stream("scalable+reno", k) for k in range(3)] == [
        "Scalable",
        "Reno",
        "Scalable",
    ]
    assert stack_of_stream("fast-small+reno", 2) == "FAST"
    assert stack_of_stream("made-up", 5) == "made-up"


def test_runs_that_differ_in_one_setting_are_found_and_others_are_not():
    def run(name, txqueuelen, wmem, buffer_B, mtu_B=9000):
        knobs = {"a": {"txqueuelen": txqueuelen, "net.ipv4.tcp_wmem": wmem}}
        return {
            **{"run_id": name, "mtu_B": mtu_B, "sender": "a", "knobs": json.dumps(knobs)},
            **{"buffer_B": buffer_B, "receive_buffer_B": 128 << 20},
        }

    runs = pd.DataFrame(
        [
            run("one", "3000", "1 2 3", 40 << 20),
            run("longer", "10000", "1 2 3", 40 << 20),
            run("other", "10000", "4 5 6", 40 << 20),
            run("smaller", "3000", "1 2 3", 32 << 20),
            run("frames", "3000", "1 2 3", 40 << 20, mtu_B=1500),
        ]
    )
    pairs = single_changes(runs)
    assert pairs[["factor", "from_run", "to_run"]].to_numpy().tolist() == [
        ["txqueuelen", "one", "longer"],
        ["windows", "one", "smaller"],
        ["memory", "longer", "other"],
    ]
    assert pairs.iloc[1]["to_level"] == "32 M/128 M"
