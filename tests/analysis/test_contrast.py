"""The mean ratio of cells with different numbers of rounds uses all of their runs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import synthetic

from netlab import study as studies
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.effects import mean_ratio, paired_ratio, without_rounds
from netlab.errors import BadInput


def by_round(*values: float, first: int = 1) -> pd.Series:
    return pd.Series(values, index=range(first, first + len(values)), dtype=float)


def test_the_mean_ratio_of_one_pair_is_its_ratio():
    pair = (by_round(100.0, 103.0, 98.0), by_round(150.0, 149.0, 158.0))
    found, alone = mean_ratio([pair]), paired_ratio(*pair)
    ends = (found.ratio, found.low, found.high)
    assert ends == pytest.approx((alone.ratio, alone.low, alone.high))


@pytest.mark.parametrize("rounds", [2, 4])
def test_the_interval_of_a_mean_ratio_has_its_nominal_coverage(rounds):
    rng = np.random.default_rng(8)
    truth = (2.0 * 1.0 * 0.8) ** (1 / 3)
    hits = 0
    for _ in range(400):
        pairs = [
            (
                by_round(*np.exp(rng.normal(0, 0.05, 4))),
                by_round(*(step * np.exp(rng.normal(0, 0.1, rounds)))),
            )
            for step in (2.0, 1.0, 0.8)
        ]
        found = mean_ratio(pairs, 0.9)
        hits += found.low < truth < found.high
    assert 0.85 < hits / 400 < 0.97


def test_a_mean_ratio_has_no_interval_where_a_cell_was_measured_once():
    several, once = by_round(1.0, 1.1), by_round(2.0)
    found = mean_ratio([(several, several), (once, several)])
    assert found.ratio == pytest.approx((1.1**0.5 / 2) ** 0.5)
    assert math.isnan(found.low) and found.verdict() == "cannot tell"
    with pytest.raises(BadInput, match="a pair of cells"):
        mean_ratio([])
    with pytest.raises(BadInput, match="positive"):
        mean_ratio([(several, by_round(0.0, 1.0))])


def test_rounds_that_one_cell_lacks_count_too():
    """Four rounds of a quiet cell, twelve of a noisy one: the paired ratio has four of them."""
    rng = np.random.default_rng(2)
    all_rounds, common = [], []
    for _ in range(50):
        quiet = by_round(*np.exp(rng.normal(0, 0.01, 4)))
        noisy = by_round(*np.exp(rng.normal(0, 0.1, 12)))
        all_rounds.append(mean_ratio([(quiet, noisy)]))
        common.append(paired_ratio(quiet, noisy))
    widths = [
        np.mean([math.log(one.high / one.low) for one in found]) for found in (all_rounds, common)
    ]
    # 1 / sqrt(12) to 1 / sqrt(4), and Student's factors 2.2 and 3.2
    assert widths[0] < 0.6 * widths[1]


def test_pairs_of_one_visit_are_not_taken_as_independent():
    """Eight pairs that vary alike say no more than one of them."""
    rng = np.random.default_rng(3)
    quiet, noisy = by_round(*np.ones(6)), by_round(*np.exp(rng.normal(0, 0.1, 6)))
    one, eight = mean_ratio([(quiet, noisy)]), mean_ratio([(quiet, noisy)] * 8)
    assert (eight.low, eight.high) == pytest.approx((one.low, one.high))


def test_values_of_one_round_have_no_interval():
    several = pd.Series([1.0, 1.1, 1.2], index=[4, 4, 4])
    assert math.isnan(mean_ratio([(several, several * 2)]).low)


def test_values_without_scatter_give_an_interval_of_no_width():
    found = mean_ratio([(by_round(2.0, 2.0), by_round(3.0, 3.0, 3.0))])
    assert (found.low, found.ratio, found.high) == pytest.approx((1.5, 1.5, 1.5))


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    study = studies.load(synthetic.openlab_file(), rounds=6)
    return synthetic.runs_of(study, noise=0.01)


def test_drift_of_the_machine_is_taken_out_of_cells_that_have_not_all_rounds(runs):
    """It doubles from the first round to the last; half of the cells end after two rounds."""
    first, last = runs["round"].min(), runs["round"].max()
    drift = 2 ** ((runs["round"] - first) / (last - first))
    number = runs.groupby(list(CELL_KEYS), sort=False).ngroup()
    kept = (number % 2 == 0) | (runs["round"] < first + 2)
    drifting = runs.assign(goodput_MBps=runs["goodput_MBps"] * drift)[kept]
    level = runs.groupby(list(CELL_KEYS))["goodput_MBps"].mean()

    def shares(values: pd.Series) -> pd.Series:
        means = drifting.assign(goodput_MBps=values).groupby(list(CELL_KEYS))["goodput_MBps"].mean()
        share = means / level
        return share / share.mean()

    assert shares(drifting["goodput_MBps"]).std() > 0.1
    assert shares(without_rounds(drifting)).std() < 0.02


def test_without_effects_of_rounds_goodput_stays(runs):
    lone = runs[runs["round"] == runs["round"].min()]
    assert without_rounds(lone).to_numpy() == pytest.approx(lone["goodput_MBps"].to_numpy())
    assert without_rounds(runs.head(0)).empty
