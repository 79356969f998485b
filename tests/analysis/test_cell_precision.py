"""Precision of a cell, and the number of rounds needed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlab_study import OPENLAB

from netlab.analysis.cell_precision import half_width_percent, nominal_level, rounds_needed
from netlab.study import load


def test_a_study_with_looks_has_wider_intervals():
    assert nominal_level(load(OPENLAB, rounds=3)) == 0.95
    assert nominal_level(load(OPENLAB)) == pytest.approx(0.965)


def test_half_of_a_known_interval():
    # geometric mean 10, standard deviation of logarithms ln 2, t(2 degrees) = 4.30265
    values = np.array([5.0, 10.0, 20.0])
    half = 4.30265 * math.log(2) / math.sqrt(3)
    assert half_width_percent(values, 0.95) == pytest.approx(100 * math.sinh(half), rel=1e-4)
    assert rounds_needed(np.array([7.0, 7.0, 7.0]), 5, 0.95) == 3
    assert rounds_needed(np.array([1.0, 1e6, 1.0]), 0.1, 0.95) == math.inf


@pytest.mark.parametrize("values", [[], [3.0], [1.0, 1.0], [1.0, 2.0, 0.0]])
def test_too_few_values_have_no_precision(values):
    assert math.isnan(half_width_percent(np.array(values), 0.95))
    assert math.isnan(rounds_needed(np.array(values), 5, 0.95))


@given(st.lists(st.floats(50, 150), min_size=2, max_size=12), st.sampled_from([1.0, 5.0, 20.0]))
def test_the_rounds_needed_agree_with_the_width_that_is_there(values, target):
    found = np.array(values)
    needed = rounds_needed(found, target, 0.95)
    assert (needed <= len(found)) == (half_width_percent(found, 0.95) <= target)
    narrower = rounds_needed(found, target / 2, 0.95)
    assert narrower >= needed or math.isnan(needed)
