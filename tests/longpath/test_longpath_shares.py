"""Shares are those of a run's flows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from longpath.long_path import STEP_S, intervals_of, trace_of

from netlab.analysis.share_over_time import rates_over_time
from netlab.longpath.fairness import fairness


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
