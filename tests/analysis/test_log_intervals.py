"""Intervals are made on logarithms: none reaches below 0."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.analysis.intervals import log_interval


@given(st.lists(st.floats(1e-3, 1e6), min_size=3, max_size=12))
def test_no_interval_reaches_below_0_and_each_contains_its_mean(values):
    found = log_interval(np.array(values))
    assert 0 <= found.low <= found.mean * (1 + 1e-9)
    assert found.high >= found.mean * (1 - 1e-9)


@pytest.mark.parametrize("values", [[], [5.0], [0.0, 4.0, 5.0]])
def test_values_that_carry_no_interval_give_none(values):
    found = log_interval(np.array(values))
    assert math.isnan(found.low) and math.isnan(found.high)
    assert math.isnan(found.mean) == (not values)
