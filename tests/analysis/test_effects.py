"""Effects are ratios with all other factors equal."""

import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import synthetic

from netlab import study as studies
from netlab.analysis.cells import CELL_KEYS, mean_interval
from netlab.analysis.effects import Ratio, effects, paired_ratio, ratio
from netlab.analysis.mean_ratios import mean_difference, mean_ratio, without_rounds
from netlab.analysis.t_distribution import t_quantile
from netlab.errors import BadInput


def test_a_ratio_mirrors_its_inverse_and_one_of_a_single_value_has_no_interval():
    rng = np.random.default_rng(5)
    a, b = rng.normal(100, 3, 4), rng.normal(150, 9, 5)
    up, down = ratio(a, b), ratio(b, a)
    assert up.ratio == pytest.approx(1 / down.ratio)
    assert up.low == pytest.approx(1 / down.high)
    assert (up.verdict(), down.verdict()) == ("faster", "slower")
    found = ratio(np.array([100.0]), np.array([150.0, 151.0]))
    assert found.ratio == pytest.approx(1.5, rel=0.01)
    assert math.isnan(found.low) and found.verdict() == "no interval"
    assert ratio(np.full(3, 2.0), np.full(3, 4.0)) == Ratio(2.0, 2.0, 2.0)


@pytest.mark.parametrize("a, b", [([], [1.0]), ([1.0], []), ([0.0], [1.0]), ([1.0], [math.nan])])
def test_values_that_have_no_ratio_are_refused(a, b):
    with pytest.raises(BadInput):
        ratio(np.array(a), np.array(b))


def test_a_factor_is_compared_within_everything_else_in_the_order_of_its_levels(runs):
    frame = effects(runs, "streams")
    steps = set(zip(frame.from_level, frame.to_level, strict=True))
    assert len(frame) == 35 * 3 and steps == {("1", "4"), ("4", "12"), ("12", "20")}
    untuned = frame[(frame.tuning == "none") & (frame.mtu_B == 9000) & (frame.from_level == "1")]
    assert (untuned["low"] > 1.5).all() and (untuned["n_from"] == 3).all()
    frame = effects(runs, "tuning", levels=("none", "kernel", "full"))
    steps = set(zip(frame.from_level, frame.to_level, strict=True))
    assert steps >= {("none", "kernel"), ("kernel", "full")}
    frame = effects(runs, "direction")
    assert set(frame["sender"]) == {"linux64-a", "linux32"}
    assert frame["ratio"].to_numpy() == pytest.approx(2.0, rel=0.1)
    assert effects(runs.assign(flags="failed"), "mtu_B").empty
    with pytest.raises(BadInput, match="factor"):
        effects(runs, "colour")


def by_round(*values: float, first: int = 1) -> pd.Series:
    return pd.Series(values, index=range(first, first + len(values)), dtype=float)


def test_a_paired_ratio_is_of_common_rounds_whose_drift_cancels():
    drift = np.array([1.0, 2.0, 0.5, 4.0])
    before, after = by_round(*(100 * drift)), by_round(*(150 * drift))
    found = paired_ratio(before, after)
    assert [found.ratio, found.low, found.high] == pytest.approx([1.5] * 3)
    welch = ratio(before.to_numpy(), after.to_numpy())
    assert welch.low < 1 < welch.high
    found = paired_ratio(by_round(1.0, 2.0, 3.0), by_round(4.0, 6.0, 9.0, first=2))
    assert found.ratio == pytest.approx(2.0) and found.low < 2 < found.high
    found = paired_ratio(by_round(1.0), by_round(2.0))
    assert found.ratio == pytest.approx(2.0) and math.isnan(found.low)
    before, after = by_round(1.0, 1.1), by_round(2.0, 2.1, first=5)
    assert paired_ratio(before, after) == ratio(before.to_numpy(), after.to_numpy())


def welch(rng):
    return ratio(rng.lognormal(0, 0.02, 3), rng.lognormal(math.log(1.5), 0.06, 3))


def paired(rng):
    drift = rng.normal(0, 0.3, 4)
    before = by_round(*np.exp(drift + rng.normal(0, 0.02, 4)))
    return paired_ratio(before, by_round(*(1.5 * np.exp(drift + rng.normal(0, 0.05, 4)))))


@pytest.mark.parametrize(("draw", "seed", "most"), [(welch, 11, 1000), (paired, 4, 969)])
def test_about_95_of_100_intervals_hold_the_true_ratio(draw, seed, most):
    rng = np.random.default_rng(seed)
    found = [draw(rng) for _ in range(1000)]
    assert 930 < sum(one.low <= 1.5 <= one.high for one in found) <= most


def test_the_mean_ratio_of_one_pair_is_its_ratio():
    pair = (by_round(100.0, 103.0, 98.0), by_round(150.0, 149.0, 158.0))
    found, alone = mean_ratio([pair]), paired_ratio(*pair)
    ends = (found.ratio, found.low, found.high)
    assert ends == pytest.approx((alone.ratio, alone.low, alone.high))


def test_a_mean_ratio_has_no_interval_where_a_cell_or_a_round_was_measured_once():
    several, once = by_round(1.0, 1.1), by_round(2.0)
    found = mean_ratio([(several, several), (once, several)])
    assert found.ratio == pytest.approx((1.1**0.5 / 2) ** 0.5)
    assert math.isnan(found.low) and found.verdict() == "no interval"
    of_one_round = pd.Series([1.0, 1.1, 1.2], index=[4, 4, 4])
    assert math.isnan(mean_ratio([(of_one_round, of_one_round * 2)]).low)
    with pytest.raises(BadInput, match="a pair of cells"):
        mean_ratio([])
    with pytest.raises(BadInput, match="positive"):
        mean_ratio([(several, by_round(0.0, 1.0))])


def test_rounds_that_one_cell_lacks_count_too():
    """Four rounds of a quiet cell, twelve of a noisy one: the paired ratio has four of them."""
    rng, widths = np.random.default_rng(2), []
    for _ in range(50):
        quiet = by_round(*np.exp(rng.normal(0, 0.01, 4)))
        noisy = by_round(*np.exp(rng.normal(0, 0.1, 12)))
        found = mean_ratio([(quiet, noisy)]), paired_ratio(quiet, noisy)
        widths.append([math.log(one.high / one.low) for one in found])
    all_rounds, common = np.mean(widths, axis=0)
    # 1 / sqrt(12) to 1 / sqrt(4), and Student's factors 2.2 and 3.2
    assert all_rounds < 0.6 * common


def test_pairs_of_one_visit_are_not_taken_as_independent():
    """Eight pairs that vary alike say no more than one of them."""
    rng = np.random.default_rng(3)
    quiet, noisy = by_round(*np.ones(6)), by_round(*np.exp(rng.normal(0, 0.1, 6)))
    one, eight = mean_ratio([(quiet, noisy)]), mean_ratio([(quiet, noisy)] * 8)
    assert (eight.low, eight.high) == pytest.approx((one.low, one.high))
    found = mean_ratio([(by_round(2.0, 2.0), by_round(3.0, 3.0, 3.0))])
    assert (found.low, found.ratio, found.high) == pytest.approx((1.5, 1.5, 1.5)), "no scatter"


@pytest.fixture(scope="module")
def six_rounds() -> pd.DataFrame:
    study = studies.load(synthetic.openlab_file(), rounds=6)
    return synthetic.runs_of(study, noise=0.01)


def test_drift_of_the_machine_is_taken_out_of_cells_that_have_not_all_rounds(six_rounds):
    """It doubles from the first round to the last; half of the cells end after two rounds."""
    first, last = six_rounds["round"].min(), six_rounds["round"].max()
    drift = 2 ** ((six_rounds["round"] - first) / (last - first))
    number = six_rounds.groupby(list(CELL_KEYS), sort=False).ngroup()
    kept = (number % 2 == 0) | (six_rounds["round"] < first + 2)
    drifting = six_rounds.assign(goodput_MBps=six_rounds["goodput_MBps"] * drift)[kept]
    level = six_rounds.groupby(list(CELL_KEYS))["goodput_MBps"].mean()

    def shares(values: pd.Series) -> pd.Series:
        means = drifting.assign(goodput_MBps=values).groupby(list(CELL_KEYS))["goodput_MBps"].mean()
        share = means / level
        return share / share.mean()

    assert shares(drifting["goodput_MBps"]).std() > 0.1
    assert shares(without_rounds(drifting)).std() < 0.02
    lone = six_rounds[six_rounds["round"] == first]
    assert without_rounds(lone).to_numpy() == pytest.approx(lone["goodput_MBps"].to_numpy())
    assert without_rounds(six_rounds.head(0)).empty


def test_a_mean_difference_is_of_the_rounds_and_has_the_interval_of_pairs():
    before, after = by_round(10.0, 20.0, 30.0), by_round(14.0, 26.0, 35.0)
    found, (mean, half) = mean_difference([(before, after)]), mean_interval(after - before, 0.95)
    assert (found.mean, found.half_width) == pytest.approx((mean, half))
    assert math.isnan(mean_difference([(by_round(1.0), by_round(2.0))]).low)


def interval_of_the_matrices(pairs: list[tuple[pd.Series, pd.Series]]) -> tuple[float, float]:
    """Standard error and degrees of freedom by CR2 as published, with matrices of all values."""
    sides = [values for pair in pairs for values in pair]
    values = np.concatenate([side.to_numpy(dtype=float) for side in sides])
    rounds = np.concatenate([side.index.to_numpy() for side in sides])
    cell = np.repeat(np.arange(len(sides)), [len(side) for side in sides])
    design = (cell[:, None] == np.arange(len(sides))).astype(float)
    bread = np.linalg.inv(design.T @ design)
    left = np.eye(len(values)) - design @ bread @ design.T
    weights = np.tile([-1.0, 1.0], len(pairs)) / len(pairs)
    variance, vectors = 0.0, []
    for at in np.unique(rounds):
        here = np.flatnonzero(rounds == at)
        roots, basis = np.linalg.eigh(left[np.ix_(here, here)])
        scale = np.array([root**-0.5 if root > 1e-9 else 0.0 for root in roots])
        pull = (basis * scale) @ basis.T @ design[here] @ bread @ weights
        variance += float((left @ values)[here] @ pull) ** 2
        vectors.append(left[:, here] @ pull)
    products = np.array(vectors) @ np.array(vectors).T
    return math.sqrt(variance), float(np.trace(products) ** 2 / np.square(products).sum())


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_of_a_mean_is_that_of_the_published_matrices(seed):
    """Cells of two to nine values, some of them several times in a round or in one round alone."""
    rng = np.random.default_rng(seed)

    def side() -> pd.Series:
        count = int(rng.integers(2, 10))
        rounds = rng.integers(1, 7, count) if rng.random() < 0.9 else np.full(count, 3)
        return pd.Series(rng.normal(0, 1, count), index=rounds)

    pairs = [(side(), side()) for _ in range(int(rng.integers(1, 6)))]
    found = mean_difference(pairs)
    error, degrees = interval_of_the_matrices(pairs)
    assert found.half_width == pytest.approx(t_quantile(degrees, 0.975) * error)


def test_the_mean_ratio_of_a_hundred_thousand_runs_fits_into_memory():
    """A matrix of all pairs of values would take 80 GB."""
    rng = np.random.default_rng(8)
    pairs = [tuple(by_round(*rng.lognormal(0, 0.1, 100)) for _ in "ab") for _ in range(500)]
    tracemalloc.start()
    found = mean_ratio(pairs)
    _, peak_B = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert math.isfinite(found.low) and peak_B < 500e6
