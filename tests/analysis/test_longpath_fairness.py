"""Jain's index follows its definition, and shares are those of a run's flows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from long_path import STEP_S, intervals_of, trace_of

from netlab.analysis.longpath_fairness import fairness, jain, shares
from netlab.errors import BadInput

rates = st.lists(st.floats(0, 1e12, allow_subnormal=False), min_size=1, max_size=20).filter(any)


@given(rates)
def test_the_index_lies_between_one_over_n_and_one(values):
    assert 1 / len(values) - 1e-9 <= float(jain(np.array(values))) <= 1 + 1e-9


@given(rates, st.floats(1, 1e6))
def test_the_index_has_no_unit_and_no_order(values, factor):
    whole = float(jain(np.array(values)))
    assert float(jain(factor * np.array(values[::-1]))) == pytest.approx(whole, rel=1e-6)


@given(st.integers(1, 20), st.floats(1e-300, 1e300))
def test_equal_shares_are_fair_and_one_taker_is_not(flows, rate):
    assert float(jain(np.full(flows, rate))) == pytest.approx(1.0)
    assert float(jain(np.eye(flows)[0] * rate)) == pytest.approx(1 / flows)


def test_an_idle_path_has_no_index_and_zero_flows_are_refused():
    assert math.isnan(float(jain(np.zeros(3))))
    assert jain(np.array([[1.0, 1.0], [1.0, 0.0]])).tolist() == [1.0, 0.5]
    for bad in (np.empty(0), np.array([1.0, -1.0])):
        with pytest.raises(BadInput):
            jain(bad)


def two(first_Mbps, second_Mbps, n: int = 100) -> pd.DataFrame:
    ones = np.ones(n)
    return pd.concat(
        [
            intervals_of(first_Mbps * ones, warmup_s=2.0),
            intervals_of(second_Mbps * ones, warmup_s=2.0, stream=1),
        ]
    )


def test_shares_over_time_are_running_means_of_each_flow():
    frame = two(300.0, 100.0)
    over = shares(frame, rtt_s=0.03)
    assert over[0].to_numpy() == pytest.approx(300.0)
    assert over[1].to_numpy() == pytest.approx(100.0)
    assert over["jain"].to_numpy() == pytest.approx(400**2 / (2 * (300**2 + 100**2)))
    assert over.index[0] == pytest.approx(1.0)
    assert shares(frame, rtt_s=0.5).index[0] == pytest.approx(2.5)
    assert shares(frame.head(3), rtt_s=0.03).empty


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
