"""Intervals on logarithms: never below 0, and they contain the true value as often as they say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.analysis.intervals import is_symmetric, log_interval

ROUNDS = (3, 4, 6, 12)


def simulated(rounds: int, cells: int, scatter: float, rng: np.random.Generator) -> np.ndarray:
    """Goodput of cells in rounds whose true geometric mean is 1, shape (cells, rounds).

    Each value carries an effect of its round and of its block within the round, a drift over the
    order within the round, and noise with heavy tails (Student t, 4 degrees of freedom).
    """
    of_round = rng.normal(0, 0.5 * scatter, (cells, rounds))
    of_block = rng.normal(0, 0.5 * scatter, (cells, rounds))
    of_order = scatter * rng.uniform(-0.5, 0.5, (cells, rounds))
    noise = 0.7 * scatter * rng.standard_t(4, (cells, rounds)) / math.sqrt(2)
    return np.exp(of_round + of_block + of_order + noise)


@pytest.mark.parametrize("scatter", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("rounds", ROUNDS)
def test_95_of_100_intervals_contain_the_true_value(rounds, scatter):
    values = simulated(rounds, 4000, scatter, np.random.default_rng(rounds))
    found = [log_interval(row) for row in values]
    covered = np.mean([one.low <= 1 <= one.high for one in found])
    assert 0.93 <= covered <= 0.97


@given(st.lists(st.floats(1e-3, 1e6), min_size=3, max_size=12))
def test_no_interval_reaches_below_0_and_each_contains_its_mean(values):
    found = log_interval(np.array(values))
    assert 0 <= found.low <= found.mean * (1 + 1e-9)
    assert found.high >= found.mean * (1 - 1e-9)


def test_a_wide_interval_stays_above_0_where_the_arithmetic_one_did_not():
    found = log_interval(np.array([500.0, 937.0, 1374.0]))
    assert 0 < found.low < found.mean < found.high
    assert not is_symmetric(found.mean, found.low, found.high)


@pytest.mark.parametrize("values", [[], [5.0], [0.0, 4.0, 5.0]])
def test_values_that_carry_no_interval_give_none(values):
    found = log_interval(np.array(values))
    assert math.isnan(found.low) and math.isnan(found.high)
    assert math.isnan(found.mean) == (not values)
