"""Whole searches over simulated paths, on a clock that only runs advance."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search.autotune.simulated import LEVELS, RUN_S, START, Simulated, search, surface_MBps

from netlab.errors import HostError
from netlab.search.autotune.candidates import Candidate
from netlab.search.autotune.request import OBJECTIVES
from netlab.search.autotune.search import (
    BETTER,
    LAST_RACE,
    NO_BETTER,
    NO_CONCLUSION,
    NO_START,
    RETRIES,
    STRIKES,
)


@pytest.mark.parametrize("aim", ["goodput", "cpu"])
def test_it_climbs_to_the_best_of_a_path(aim):
    outcome, _ = search(Simulated(), seconds=300, objective=OBJECTIVES[aim])
    assert outcome.verdict == BETTER
    assert outcome.winner.streams == 4
    assert outcome.winner.record_length_B in (1 << 18, 1 << 19, 1 << 20)
    truth = math.log(surface_MBps(outcome.winner) / surface_MBps(START))
    assert outcome.gain.low < truth < outcome.gain.high


def test_a_claim_of_better_is_wrong_no_more_often_than_stated():
    """All candidates are equal: any gain is an error of the last race."""
    claims = 0
    for seed in range(120):
        path = Simulated(lambda candidate: 100.0, noise=0.1, seed=seed)
        outcome, _ = search(path, seconds=60, seed=seed, error=0.05)
        assert outcome.verdict in (BETTER, NO_BETTER)
        claims += outcome.verdict == BETTER
        if outcome.verdict == NO_BETTER:
            assert outcome.winner == START
    assert claims <= 120 * 0.05 + 3 * math.sqrt(120 * 0.05 * 0.95)


def test_the_best_start_stays():
    best = Candidate(1 << 19, 0, 4)
    outcome, _ = search(Simulated(), start=best)
    assert (outcome.verdict, outcome.winner) == (NO_BETTER, best)


@settings(max_examples=40, deadline=None)
@given(
    seconds=st.floats(5, 200),
    run_s=st.floats(0.1, 6),
    trouble=st.sampled_from(["", "interference", "stalled", "failed"]),
    share=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_no_search_outlasts_its_budget_by_more_than_it_misjudged_a_run(
    seconds, run_s, trouble, share, seed
):
    def spoil(candidate, count, generator):
        return trouble if generator.random() < share else ""

    path = Simulated(run_s=run_s, spoil=spoil, seed=seed)
    outcome, _ = search(path, seconds=seconds)
    assert path.now_s <= 100 + seconds + max(run_s, RUN_S)
    assert len(outcome.samples) == len(path.taken)
    if outcome.verdict in (NO_BETTER, NO_CONCLUSION):
        assert outcome.winner == START


def test_a_last_race_cut_short_claims_only_measured_differences():
    """For any budget, "no better" needs a start that was compared in three rounds."""

    def figure(candidate):
        return 100.0 if candidate.streams > 1 else 10.0

    for seconds in range(5, 60):
        path = Simulated(figure, spoil=lambda c, n, g: "stalled" if g.random() < 0.2 else "")
        outcome, _ = search(path, seconds=seconds, levels={"streams": LEVELS["streams"]})
        assert outcome.verdict in (BETTER, NO_START, NO_CONCLUSION), seconds


@pytest.mark.parametrize(
    ("spoilt", "seconds"), [("", 1.2), ("interference", 120.0), ("failed", 120.0)]
)
def test_too_short_a_budget_or_a_machine_that_is_never_quiet_gives_no_conclusion(spoilt, seconds):
    outcome, _ = search(Simulated(spoil=lambda *_: spoilt), seconds=seconds)
    assert (outcome.verdict, outcome.winner) == (NO_CONCLUSION, START)
    assert not spoilt or not any(sample["counted"] for sample in outcome.samples)


def test_runs_that_met_foreign_load_are_repeated_and_do_not_count():
    def spoil(candidate, count, generator):
        return "interference" if generator.random() < 0.3 else ""

    path = Simulated(spoil=spoil)
    outcome, _ = search(path, seconds=300)
    assert outcome.verdict == BETTER
    spoilt = [sample for sample in outcome.samples if sample["flags"]]
    assert spoilt and not any(sample["counted"] for sample in spoilt)
    first = spoilt[0]
    same = ("stage", "round", "record_length_B")
    again = [s for s in outcome.samples if all(s[key] == first[key] for key in same)]
    assert 1 < len(again) <= 1 + RETRIES
    counted, _ = search(Simulated(spoil=spoil), seconds=300, count_disturbed=True)
    assert all(sample["counted"] for sample in counted.samples)


def test_a_machine_that_grows_quiet_is_waited_for():
    noisy_s = 40

    def spoil(candidate, count, generator):
        return "interference" if path.now_s < 100 + noisy_s else ""

    path = Simulated(spoil=spoil)
    outcome, _ = search(path, seconds=200)
    assert outcome.verdict == BETTER
    assert any(stage.winner is None for stage in outcome.stages)


def test_a_candidate_that_its_host_refuses_leaves_at_once():
    def spoil(candidate, count, generator):
        return "failed/refused" if candidate.receive == "splice" else ""

    levels = {"receive": ("copy", "discard", "splice")}
    path = Simulated(spoil=spoil)
    outcome, lines = search(path, levels=levels)
    assert sum(one.receive == "splice" for one in path.taken) == 1
    (gone,) = (arm for arm in outcome.stages[0].arms if arm.reason)
    assert gone.candidate.level("receive") == "splice"
    assert "  out: receive splice: it was failed" in lines


def test_a_candidate_that_always_stalls_leaves_after_a_few_tries():
    def spoil(candidate, count, generator):
        return "stalled" if candidate.buffer_B == 65536 else ""

    path = Simulated(spoil=spoil)
    outcome, _ = search(path, levels={"buffer_B": LEVELS["buffer_B"]})
    assert sum(one.buffer_B == 65536 for one in path.taken) == STRIKES
    assert {arm.candidate.buffer_B for arm in outcome.stages[0].arms if arm.reason} == {65536}


def test_a_start_that_cannot_be_measured_is_reported():
    def spoil(candidate, count, generator):
        return "stalled" if candidate.streams == 1 else ""

    outcome, _ = search(Simulated(spoil=spoil), levels={"streams": LEVELS["streams"]})
    assert outcome.verdict == NO_START
    assert outcome.winner.streams == 4


def test_of_equals_the_one_that_changes_least_is_chosen():
    """Only the buffer matters here, so only it changes, in spite of noise."""

    def figure(candidate):
        return 100.0 if candidate.buffer_B else 10.0

    for seed in range(20):
        outcome, _ = search(Simulated(figure, noise=0.002, drift=0.0, seed=seed), seed=seed)
        assert outcome.verdict == BETTER
        assert outcome.winner.buffer_B != 0
        assert outcome.winner.at("buffer_B", 0) == START


def test_every_round_is_shuffled_and_holds_each_candidate_once():
    outcome, _ = search(Simulated(noise=0.5))
    rounds: dict[tuple, list] = {}
    for sample in outcome.samples:
        key = (sample["stage"], sample["round"])
        rounds.setdefault(key, []).append((sample["record_length_B"], sample["buffer_B"]))
    first = [rounds[1, number] for number in (1, 2, 3)]
    assert all(len(set(one)) == len(one) == len(first[0]) for one in first)
    assert len({tuple(one) for one in first}) > 1


def test_one_seed_is_one_order():
    orders = []
    for seed in (7, 7, 8):
        path = Simulated()
        search(path, seed=seed)
        orders.append(path.taken)
    assert orders[0] == orders[1] != orders[2]


def test_the_log_has_every_round_and_every_drop():
    outcome, lines = search(Simulated())
    for stage in outcome.stages:
        rounds = {s["round"] for s in outcome.samples if s["stage"] == stage.number}
        assert any(line.startswith(f"{stage.factor}: ") for line in lines)
        assert len(rounds) >= 1
    dropped = [arm for stage in outcome.stages for arm in stage.arms if arm.dropped_after]
    assert len([line for line in lines if line.startswith("  out: ")]) == len(dropped) > 0
    said = [line for line in lines if line.startswith("  round ")]
    assert len(said) == len({(s["stage"], s["round"]) for s in outcome.samples})
    assert outcome.stages[-1].factor == LAST_RACE


def test_the_last_race_stands_on_runs_of_its_own():
    outcome, _ = search(Simulated())
    last = outcome.stages[-1]
    own = [sample for sample in outcome.samples if sample["stage"] == last.number]
    (start,) = (arm for arm in last.arms if arm.candidate == START)
    assert start.rounds == sum(s["counted"] and START.as_dict().items() <= s.items() for s in own)


def test_a_lost_host_ends_the_search():
    def lost(candidate):
        raise HostError("left", "went away")

    path = Simulated()
    path.take = lost
    with pytest.raises(HostError, match="went away"):
        search(path)
