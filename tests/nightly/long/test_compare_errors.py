"""Error rates of comparisons of two campaigns, by simulation."""

import math

import numpy as np
import pandas as pd
import pytest

from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.compare import CANNOT_TELL, FASTER, SAME, SLOWER, compare_pairs, shift_of

FAMILIES, CELLS = 200, 12
EVERY_OTHER = np.where(np.arange(CELLS) % 2, 1.3, 1.0)
"""Ratios of families of which half the cells differ; streams are numbered from 1."""


def goodputs(rng, rounds, *, ratio: float | np.ndarray = 1.0, heavy=False) -> np.ndarray:
    """Rounds x cells, with another spread in every cell, an effect of the round, tails as asked."""
    spread = np.geomspace(0.002, 0.1, CELLS)
    noise = rng.standard_t(3, (rounds, CELLS)) if heavy else rng.standard_normal((rounds, CELLS))
    logs = noise * spread + 0.02 * rng.standard_normal((rounds, 1)) + np.log(ratio)
    return 100 * np.exp(logs)


def families(rounds, *, heavy, ratio=1.0, paired=False, seed=1):
    """Verdicts of every family, of which each side has goodputs of its own."""
    rng = np.random.default_rng(seed)
    of_a = [f"a@{number + 1}" for number in range(rounds)]
    of_b = of_a if paired else [f"b@{number + 1}" for number in range(rounds)]
    for _ in range(FAMILIES):
        a = goodputs(rng, rounds, heavy=heavy)
        b = goodputs(rng, rounds, heavy=heavy, ratio=ratio)
        if paired:  # rounds in common, and so is what a round does to all cells
            effect = np.exp(0.2 * rng.standard_normal(rounds))[:, np.newaxis]
            a, b = a * effect, b * effect
        pairs = [
            (pd.Series(before, index=of_a), pd.Series(after, index=of_b))
            for before, after in zip(a.T, b.T, strict=True)
        ]
        yield pd.DataFrame(compare_pairs(pairs)).assign(streams=np.arange(CELLS) + 1)


def bound(rate):
    """Largest share of families at this rate, but for one simulation in a thousand."""
    return rate + 3.1 * math.sqrt(rate * (1 - rate) / FAMILIES)


@pytest.mark.parametrize("rounds", [3, 6])
@pytest.mark.parametrize("heavy", [False, True], ids=["normal", "heavy tails"])
@pytest.mark.parametrize("paired", [False, True], ids=["campaigns", "within rounds"])
def test_at_most_five_families_in_a_hundred_have_a_false_difference(rounds, heavy, paired):
    wrong = [
        frame["verdict"].isin([FASTER, SLOWER]).any()
        for frame in families(rounds, heavy=heavy, paired=paired)
    ]
    assert np.mean(wrong) <= bound(0.05)


def test_a_cell_beyond_the_bound_passes_for_the_same_in_at_most_five_families_in_a_hundred():
    found = list(families(6, heavy=False, ratio=1.051))
    assert np.mean([(frame["verdict"] == SAME).any() for frame in found]) <= bound(0.05)


def test_a_true_difference_is_found_where_the_spread_allows():
    found = list(families(6, heavy=False, ratio=1.3))
    quiet = [frame.set_index("streams")["verdict"].loc[[1, 2, 3]] for frame in found]
    assert np.mean([(one == FASTER).all() for one in quiet]) > 0.95
    assert not any((frame["verdict"] == SLOWER).any() for frame in found)
    loud = [frame.set_index("streams")["verdict"].loc[CELLS] for frame in found]
    by_interval = [frame.set_index("streams")["low"].loc[CELLS] <= 1 for frame in found]
    assert np.mean(by_interval) > 0.05
    assert np.mean([one == CANNOT_TELL for one in loud]) < np.mean(by_interval) / 2


@pytest.mark.parametrize("heavy", [False, True], ids=["normal", "heavy tails"])
def test_steps_beside_true_differences_have_few_false_ones_and_find_more(heavy):
    wrong = found = by_interval = 0
    for frame in families(6, heavy=heavy, ratio=EVERY_OTHER):
        differs = frame["streams"] % 2 == 0
        decided = frame["verdict"].isin([FASTER, SLOWER])
        wrong += bool((decided & ~differs).any()) or bool((frame["verdict"] == SLOWER).any())
        found += int((decided & differs).sum())
        by_interval += int(((frame["low"] > 1) & differs).sum())
    assert wrong / FAMILIES <= bound(0.05)
    assert found > by_interval


def shifted(rng, shift):
    """A campaign of twelve rounds of one cell, as runs."""
    logs = shift * rng.standard_normal() + 0.02 * rng.standard_normal(12)
    row = dict.fromkeys((*CELL_KEYS, "path", "sender", "direction"), "x") | {"flags": ""}
    runs = pd.DataFrame([row] * 12)
    return runs.assign(goodput_MBps=100 * np.exp(logs), round=np.arange(12) + 1)


def test_a_shift_between_campaigns_makes_false_verdicts_which_repeats_of_it_prevent():
    """Campaigns shift by 2 % (standard deviation), their rounds scatter by as much."""
    rng, alone, repeated, count = np.random.default_rng(3), 0, 0, 400
    for _ in range(count):
        a, b, *repeats = (shifted(rng, 0.02) for _ in range(6))
        goodputs = [side["goodput_MBps"].set_axis([f"{n}@{r}" for r in side["round"]])
                    for n, side in enumerate((a, b))]  # fmt: skip
        (row,) = compare_pairs([tuple(goodputs)])
        decided = row["verdict"] in (FASTER, SLOWER)
        alone += decided
        repeated += decided and not shift_of([a, *repeats], 0.95).explains(row["ratio"])
    assert alone / count > 0.2
    assert repeated / count <= bound(0.05)
