"""Fairness of a run's streams: Jain's index, and streams without a byte in a long window."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure.read_flows import flow

from netlab.errors import BadInput
from netlab.measure.exchange import Direction
from netlab.measure.fairness import LEAST_PACKETS, jain, starved, stream_columns

rates = st.lists(st.floats(0, 1e12, allow_subnormal=False), min_size=1, max_size=20).filter(any)


@given(rates, st.floats(1, 1e6))
def test_the_index_lies_between_one_over_n_and_one_and_has_no_unit_and_no_order(values, factor):
    whole = float(jain(np.array(values)))
    assert 1 / len(values) - 1e-9 <= whole <= 1 + 1e-9
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


NOT_COUNTED = {"jain_index": None, "silent_streams": None}


@pytest.mark.parametrize(
    ("flows", "index", "silent"),
    [
        ([flow(7, 7, 7, 7)], 1.0, 0),
        ([flow(9, 0, 0, 0)], 0.25, 3),
        ([flow(5)], 1.0, 0),
        # the direction that shared less evenly, and the silent streams of both
        ([flow(7, 0), flow(1, 1)], 0.5, 1),
        ([flow(7, 0), flow(9, 0, 0, 0)], 0.25, 4),
        # no index of nothing
        ([flow(0, 0)], None, 2),
    ],
)
def test_columns_are_of_the_bytes_of_each_stream_within_the_window(flows, index, silent):
    found = stream_columns(flows)
    assert found == {"jain_index": pytest.approx(index), "silent_streams": silent}


def test_a_tool_that_does_not_count_each_stream_and_a_run_without_window_have_no_columns():
    other = flow(7, 7)
    other.sink["per_stream"] = [{"stream": 0}]
    unopened = flow(7, 7)
    unopened.sink["window"] = None
    for one in (other, unopened):
        assert stream_columns([one]) == stream_columns([flow(1), one]) == NOT_COUNTED
        assert starved({}, [one]) is None


MSS_B = 1448


@pytest.mark.parametrize(
    ("row", "flows", "says"),
    [
        ({}, [flow(9, 0, 0)], "forward: 2 of 3 streams had no byte in 1.00 s"),
        ({}, [flow(9, 9), flow(9, 0)], "reverse: 1 of 2 streams had no byte in 1.00 s"),
        ({}, [flow(9, 1, 1)], None),
        # a direction without any byte is stalled
        ({}, [flow(0, 0)], None),
        # a lost segment, and its lost retransmission, are a silence of three timeouts
        ({}, [flow(9, 0, window_s=0.61)], "forward: 1 of 2 streams had no byte in 0.61 s"),
        ({}, [flow(9, 0, window_s=0.59)], None),
        ({"min_rtt_us": 183_000}, [flow(9, 0)], None),
        ({"min_rtt_us": 183_000}, [flow(9, 0, window_s=1.2)], "forward: 1 of 2"),
        # a slow pace explains it
        ({}, [flow(9, 0, pacing_Bps=LEAST_PACKETS * MSS_B)], "forward: 1 of 2"),
        ({}, [flow(9, 0, pacing_Bps=LEAST_PACKETS * MSS_B - 1)], None),
    ],
)
def test_streams_without_a_byte_are_starved_in_a_long_window(row, flows, says):
    found = starved(row, flows)
    assert (found or "").startswith(says or "") and (found is None) == (says is None)


def test_the_pace_of_datagrams_is_in_datagrams():
    slow = flow(9, 0, pacing_Bps=LEAST_PACKETS * 1000 - 1)
    for stream in slow.gen["per_stream"]:
        stream["udp"] = {"sent": stream["bytes"] // 1000}
    assert starved({}, [slow]) is None
    for stream in slow.gen["per_stream"]:
        stream["pacing_Bps"] += 1
    assert starved({}, [slow])


def by_plan(late_B: int) -> Direction:
    """Two streams, of which the second has its bytes from 0.8 s on, and the first as ever."""
    direction = flow(7, 7)
    samples = direction.sink["samples"]
    step_B, count = samples["bytes"][0][1], len(samples["t_ns"])
    samples["bytes"] = [samples["bytes"][0], [late_B * max(0, at - 8) for at in range(count)]]
    direction.sink["per_stream"][1]["window_bytes"] = late_B * 5
    assert step_B > 0
    return direction


def test_the_index_counts_the_time_in_which_all_flows_are_on():
    step_B = by_plan(0).sink["samples"]["bytes"][0][1]
    fair = by_plan(step_B)
    assert stream_columns([fair], (0.8, math.inf))["jain_index"] == pytest.approx(1.0)
    assert stream_columns([fair], (0.5, math.inf))["jain_index"] < 0.95
    assert stream_columns([fair], (1.25, 1.3)) == NOT_COUNTED


def test_a_flow_that_is_silent_before_its_start_is_not_starved():
    silent = by_plan(0)
    window = silent.sink["window"]
    silent.sink["per_stream"][1]["window_bytes"] = 0
    assert stream_columns([silent], (0.8, math.inf))["silent_streams"] == 1
    assert starved({}, [silent]) and window
    assert starved({}, [silent], (0.8, math.inf)) is None  # 0.5 s are too short to tell
