"""Error rates of the verdicts of a benchmark, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from tests.qualify.bench.test_bench_compare import compared, samples

from netlab.analysis.compare import FASTER, SAME, SLOWER
from netlab.qualify.bench_report import ComparisonRule


@pytest.mark.parametrize("rounds", [3, 5, 7])
def test_an_interval_of_few_rounds_has_its_nominal_coverage(rounds):
    tried = 400
    frames = (
        compared(samples(0.05, rounds=rounds, seed=seed, gensink=1200.0, iperf3=1000.0))
        for seed in range(tried)
    )
    covered = sum(row.loc["iperf3", "low"] < 1.2 < row.loc["iperf3", "high"] for row in frames)
    assert 0.92 * tried < covered < 0.98 * tried


CELLS, FAMILIES = 8, 100


def families(own: float, rounds: int = 5):
    """Ratios of simulated benchmarks of two tools in several cells, gensink ``own`` times both."""
    rates = {"gensink": 1000.0 * own, "iperf3": 1000.0, "nuttcp": 1000.0}
    for seed in range(FAMILIES):
        cells = [
            samples(0.03, rounds=rounds, seed=CELLS * seed + at, **rates).assign(streams=at + 1)
            for at in range(CELLS)
        ]
        yield ComparisonRule().ratios(pd.concat(cells))


def at_most(rate: float) -> float:
    """Largest share of families at this rate, but for one simulation in a thousand."""
    return rate + 3.1 * math.sqrt(rate * (1 - rate) / FAMILIES)


@pytest.mark.parametrize("rounds", [3, 5])
def test_of_identical_contenders_few_families_have_a_false_difference(rounds):
    wrong = [rows["verdict"].isin([FASTER, SLOWER]).any() for rows in families(1.0, rounds)]
    assert np.mean(wrong) <= at_most(0.05)


def test_contenders_beyond_the_bound_pass_for_the_same_in_few_families():
    wrong = [(rows["verdict"] == SAME).any() for rows in families(1.051)]
    assert np.mean(wrong) <= at_most(0.05)


def test_an_effect_of_a_fifth_is_found_in_nearly_all_cells():
    verdicts = pd.concat([rows["verdict"] for rows in families(1.2, rounds=7)])
    assert (verdicts == FASTER).mean() > 0.95
    assert not (verdicts == SLOWER).any()
