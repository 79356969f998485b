"""Error rates of comparisons of two campaigns, by simulation."""

import math

import numpy as np
import pandas as pd
import pytest

from netlab.analysis.compare import CANNOT_TELL, FASTER, SAME, SLOWER, compare

pytestmark = pytest.mark.slow

FAMILIES, CELLS = 200, 12
COLUMNS = {
    **{"group": "g", "path": "p", "sender": "s", "direction": "->", "tuning": "t", "mtu_B": 1500},
    **{"factors": "", "congestion": "cubic", "generator": "netlab", "engine": "e"},
    "record_length_B": 1,
    **{"buffer_B": 0, "receive_buffer_B": None, "records": None, "flags": ""},
}


def campaign(rng, name, rounds, *, ratio: float | np.ndarray = 1.0, heavy=False):
    """Runs with another spread in every cell, an effect of the round, and tails as asked."""
    spread = np.geomspace(0.002, 0.1, CELLS)
    noise = rng.standard_t(3, (rounds, CELLS)) if heavy else rng.standard_normal((rounds, CELLS))
    logs = noise * spread + 0.02 * rng.standard_normal((rounds, 1)) + np.log(ratio)
    at = np.indices((rounds, CELLS))
    return pd.DataFrame(
        {
            **COLUMNS,
            "streams": at[1].ravel() + 1,
            "round": at[0].ravel() + 1,
            "campaign": name,
            "goodput_MBps": 100 * np.exp(logs.ravel()),
            "run_id": [f"{name}{i}" for i in range(rounds * CELLS)],
            "started_at": pd.Timestamp("2026-01-01", tz="UTC"),
        }
    )


def families(rounds, *, heavy, ratio=1.0, paired=False, seed=1):
    """Verdicts of every family."""
    rng = np.random.default_rng(seed)
    for _ in range(FAMILIES):
        a = campaign(rng, "a", rounds, heavy=heavy)
        b = campaign(rng, "b", rounds, heavy=heavy, ratio=ratio)
        if paired:  # rounds in common, and so is what a round does to all cells
            effect = np.repeat(np.exp(0.2 * rng.standard_normal(rounds)), CELLS)
            a["goodput_MBps"] *= effect
            b = b.assign(goodput_MBps=b["goodput_MBps"] * effect, campaign="a", tuning="u")
        yield compare(a, b, by="tuning" if paired else "", one_store=paired).frame


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


EVERY_OTHER = np.where(np.arange(CELLS) % 2, 1.3, 1.0)
"""Ratios of families of which half the cells differ; streams are numbered from 1."""


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
