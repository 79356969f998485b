"""Races of simulated arms: the worse are dropped early, the best survives as often as stated."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.search.autotune.race import LOOKS, Race


def simulated(scores: dict[str, float], seed: int, *, noise: float, drift: float, **rules: float):
    """Run a race of arms with known means; drift is common to all arms of a round."""
    generator = random.Random(seed)
    race = Race(list(scores), **rules)
    measured = 0
    while not race.finished:
        number = len(race.complete_rounds) + 1
        weather = generator.gauss(0, drift)
        for arm in race.running:
            race.add(number, arm, scores[arm] + weather + generator.gauss(0, noise))
            measured += 1
        race.look()
    return race, measured


def test_the_best_is_dropped_no_more_often_than_stated():
    """The hardest case: one arm is slightly better than equal others, and must not be dropped."""
    error, races = 0.2, 1500
    arms = {"best": 1e-9, **{f"arm {n}": 0.0 for n in range(4)}}
    rules = {"error": error, "max_rounds": 6, "noise": 0.05, "drift": 0.3}
    wrong = sum("best" in simulated(arms, seed, **rules)[0].dropped for seed in range(races))
    # three standard deviations of a count that is binomial at the stated error
    assert wrong <= races * error + 3 * math.sqrt(races * error * (1 - error))
    assert wrong > 0  # else the bound was never tested


def test_a_clear_best_wins_and_the_losers_cost_little():
    arms = {"good": 0.0, **{f"bad {n}": -0.5 for n in range(7)}}
    for seed in range(100):
        race, measured = simulated(arms, seed, noise=0.02, drift=0.5, max_rounds=20)
        assert race.leader == "good"
        assert race.alive == ["good"]
        assert measured <= 8 * 6


def test_drift_common_to_all_arms_does_not_hide_a_difference():
    arms = {"good": 0.0, "bad": -0.1}
    race, _ = simulated(arms, 1, noise=0.005, drift=5.0, max_rounds=10)
    assert race.alive == ["good"]
    gap = race.dropped["bad"]
    assert gap.low < 0.1 < gap.high


def test_a_race_of_equals_ends_with_its_rounds():
    race, measured = simulated(dict.fromkeys("abc", 0.0), 3, noise=1, drift=1, max_rounds=5)
    assert len(race.complete_rounds) == 5
    assert measured <= 15
    assert race.finished


def test_a_race_of_arms_that_are_known_to_differ_little_ends_early():
    arms = {"a": 0.0, "b": 0.001, "c": -0.001}
    race, measured = simulated(arms, 3, noise=0.002, drift=1, max_rounds=60, margin=0.01)
    assert race.tied and measured < 3 * 20
    race, measured = simulated(arms, 3, noise=0.002, drift=1, max_rounds=6)
    assert not race.tied


def test_arms_without_any_spread_differ_or_tie():
    race, _ = simulated({"a": 2.0, "b": 2.0, "c": 1.0}, 1, noise=0, drift=0)
    assert set(race.alive) == {"a", "b"}


def test_time_that_ends_a_race_lets_it_look_once_more_at_the_rounds_that_each_pair_has():
    race = Race(["a", "b", "c"])
    for number in (1, 2, 3):
        race.add(number, "a", 5.0 + 0.01 * number)
        race.add(number, "b", 1.0)
    for number in (1, 2):
        race.add(number, "c", 1.0)
    assert race.look() == []  # two rounds are complete
    assert [gap.arm for gap in race.look(last=True)] == ["b"]
    assert race.alive == ["a", "c"]


def test_no_arm_is_dropped_before_the_first_look():
    race = Race(["a", "b"])
    for number in range(1, LOOKS[0]):
        race.add(number, "a", 100.0)
        race.add(number, "b", 1.0)
        assert race.look() == []
    assert race.leader == "a"


def test_a_round_counts_once_every_arm_that_runs_has_a_score():
    race = Race(["a", "b"])
    race.add(1, "a", 1.0)
    assert race.leader is None and race.complete_rounds == []
    race.add(2, "a", 1.0)
    race.add(2, "b", 3.0)
    assert race.complete_rounds == [2]
    assert race.leader == "b"
    race.withdraw("b", "its host has none")
    assert race.complete_rounds == [1, 2]
    assert race.finished and race.leader == "a"


def test_the_start_is_measured_on_after_it_is_dropped():
    race = Race(["start", "x", "y"], max_rounds=10, keep="start")
    for number in range(1, 6):
        for arm, score in (("start", 0.0), ("x", 1.0), ("y", 1.0)):
            race.add(number, arm, score + 0.01 * number)
        race.look()
    assert race.alive == ["x", "y"]
    assert race.running == ["start", "x", "y"]
    assert race.gap("start", "x").rounds == 5
    assert race.dropped["start"].rounds == 3


def test_every_look_pays_its_share_of_the_error():
    race = Race(list("abcd"), error=0.05, max_rounds=8)
    assert race.looks == (3, 4, 5, 6, 8)
    assert race.level == pytest.approx(0.05 / (3 * 6))


@settings(max_examples=150, deadline=None)
@given(
    means=st.lists(st.floats(-5, 5), min_size=1, max_size=6),
    noise=st.floats(0, 2),
    rounds=st.integers(3, 20),
    seed=st.integers(0, 2**32),
)
def test_every_race_ends_with_a_leader_that_was_never_dropped(means, noise, rounds, seed):
    arms = {f"arm {n}": mean for n, mean in enumerate(means)}
    if len(arms) == 1:
        assert Race(list(arms)).finished
        return
    race, measured = simulated(arms, seed, noise=noise, drift=1.0, max_rounds=rounds)
    assert race.leader in race.alive
    assert set(race.alive) | set(race.dropped) == set(arms)
    assert not set(race.alive) & set(race.dropped)
    assert measured <= rounds * len(arms)
    for gap in race.dropped.values():
        assert 0 < gap.low <= gap.mean <= gap.high
