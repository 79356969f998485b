"""Remaining share, growth and recovery time are found for windows that follow a law."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long_path import STEP_S, trace_of, windows

from netlab.analysis.longpath_recovery import beside_law, law_growth, recoveries, recovery
from netlab.congestion.window_laws import HIGHSPEED, LAWS, RENO, SCALABLE

LOSS_S = 4.0


def followed(law, top: float, rtt_s: float, until_s: float) -> pd.DataFrame:
    """A trace of a stream that loses one packet at `top` and then follows a law."""
    t_s = STEP_S * np.arange(round(until_s / STEP_S) + 1)
    window = windows(
        t_s, rtt_s=rtt_s, top=top, loss_s=LOSS_S, kept=law.kept(top), growth=law.growth
    )
    return trace_of(window, t_s, rtt_s=rtt_s, lost_s=LOSS_S + rtt_s)


@settings(max_examples=40, deadline=None)
@given(
    law=st.sampled_from(LAWS),
    top=st.floats(60, 600),
    rtt_s=st.floats(0.03, 0.2),
)
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


def test_growth_over_some_round_trips_is_the_laws():
    assert law_growth(RENO, 3200.0, 50) == 1.0
    assert law_growth(SCALABLE, 5600.0, 8) == pytest.approx(5600 * (1.01**8 - 1) / 8)
    low, high = HIGHSPEED.growth(4200.0), HIGHSPEED.growth(4600.0)
    assert low < law_growth(HIGHSPEED, 4200.0, 8) < high


def test_a_window_that_did_not_fall_has_no_recovery():
    t_s = STEP_S * np.arange(100)
    flat = trace_of(np.full(100, 500.0), t_s, rtt_s=0.183)
    assert recovery(flat, LOSS_S) is None
    assert recovery(flat, 50.0) is None
    assert recovery(flat, -1.0) is None


def test_a_stack_without_a_window_law_has_none_beside_it():
    found = recovery(followed(RENO, 300, 0.05, 10.0), LOSS_S)
    assert all(math.isnan(value) for value in beside_law("FAST", found).values())


def test_every_run_with_a_forced_loss_has_a_row():
    rows = {"run_id": ["r", "calm", "two"], "streams": [1, 1, 2], "congestion": "reno"}
    runs = pd.DataFrame({**rows, "forced_loss_s": [LOSS_S, np.nan, LOSS_S]})
    traces = followed(RENO, 300, 0.05, 20.0)
    found = recoveries(runs, pd.concat([traces.assign(run_id=name) for name in rows["run_id"]]))
    assert found["run_id"].tolist() == ["r"]
    assert found.iloc[0]["stack"] == "Reno"
    assert found.iloc[0]["recovery_s"] == pytest.approx(150 * 0.05, rel=0.1)
    assert recoveries(runs.drop(columns="forced_loss_s"), traces).empty
