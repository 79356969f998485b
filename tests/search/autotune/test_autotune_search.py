"""Whole searches over simulated paths, on a clock that only runs advance."""

import math
from dataclasses import replace

import pytest
from experiment.scripted_endpoint import endpoint
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_study import lab_study
from measure.scripted import Clock, ScriptedAgent, good_agent, result
from search.autotune.simulated import LEVELS, RUN_S, START, Simulated, search, surface_MBps

from netlab.errors import HostError
from netlab.measure.exchange import Direction, RunOutcome
from netlab.search.autotune.candidates import Candidate
from netlab.search.autotune.request import OBJECTIVES, SearchRequest
from netlab.search.autotune.search import (
    BETTER,
    LAST_RACE,
    NO_BETTER,
    NO_CONCLUSION,
    NO_START,
    RETRIES,
    STRIKES,
)
from netlab.search.autotune.trial import HANG_S, PathUnderTest, cpu_s_per_GB, lengthened, timing_for
from netlab.study import Timing


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


# One run of one candidate with scripted agents: its sample and its time limits.

STUDY = lab_study()
CANDIDATE = Candidate(131072, 1 << 20, 2)


def path_of(clock: Clock, end_s: float = 10_000.0, **more) -> tuple[PathUnderTest, dict]:
    agents = {"a": good_agent(clock), "b": good_agent(clock), **more}
    endpoints = {name: endpoint(name, agent) for name, agent in agents.items()}
    for end in endpoints.values():
        end.facts = {"cpus": 2, "mtu_B": 1500, "boot_id": "1-a"}
        end.open_files = lambda: 1000
    group, timing = SearchRequest(STUDY, "a-b").group, Timing(rounds=1, seconds=1.0, warmup_s=0.3)
    return PathUnderTest(STUDY, group, endpoints, 1500, timing, end_s, now=clock), endpoints


def test_a_run_of_a_candidate_is_a_sample_with_goodput_and_cost():
    path, endpoints = path_of(Clock())
    sample = path.take(CANDIDATE)
    assert sample["flags"] == "" and sample["message"] == ""
    assert sample["goodput_MBps"] == pytest.approx(20.0)
    # 0.3 s of each agent and 0.2 s of the one machine's interrupts for 20 MB
    assert sample["cpu_s_per_GB"] == pytest.approx(0.8 / 0.02)
    (sink,) = endpoints["b"].agent.asked("sink")
    (gen,) = endpoints["a"].agent.asked("gen")
    for words in (sink, gen):
        assert (words["record_B"], words["streams"], words["buffer_B"]) == (131072, 2, 1 << 20)
        assert words["congestion"] == "-"  # the host's own
    assert sink["receive"] == "copy"


def test_words_of_the_engine_and_the_receivers_own_buffer_reach_the_agents():
    path, endpoints = path_of(Clock())
    engine = {"engine": "epoll", "receive": "discard", "send": "splice"}
    path.take(replace(CANDIDATE, **engine, receive_buffer_B=777))
    (sink,), (gen,) = endpoints["b"].agent.asked("sink"), endpoints["a"].agent.asked("gen")
    assert (sink["receive"], sink["engine"], sink["buffer_B"]) == ("discard", "epoll", 777)
    assert (gen["send"], gen["engine"], gen["buffer_B"]) == ("splice", "epoll", 1 << 20)


def test_buffers_stay_below_the_limits_of_the_tuning():
    path, endpoints = path_of(Clock())
    endpoints["a"].buffer_clamps = lambda: (1000, 2000)
    endpoints["b"].buffer_clamps = lambda: (3000, 4000)
    path.take(CANDIDATE)
    assert endpoints["a"].agent.asked("gen")[0]["buffer_B"] == 1000
    assert endpoints["b"].agent.asked("sink")[0]["buffer_B"] == 4000


def test_a_run_that_hangs_is_given_up_after_its_time_and_stopped():
    clock = Clock()
    mute = ScriptedAgent(clock)
    path, endpoints = path_of(clock, b=mute)
    began_s = clock.now_s
    sample = path.take(CANDIDATE)
    assert clock.now_s - began_s <= path.run_s + HANG_S + 0.01
    assert (sample["flags"], sample["code"]) == ("failed", "timeout")
    assert mute.asked("stop") and endpoints["a"].agent.asked("stop")


def test_no_run_is_waited_for_beyond_the_end_of_the_budget():
    clock = Clock()
    path, _ = path_of(clock, end_s=clock.now_s + 0.7, b=ScriptedAgent(clock))
    began_s = clock.now_s
    assert path.take(CANDIDATE)["code"] == "timeout"
    assert clock.now_s - began_s <= 0.71


def test_an_agent_that_refuses_names_the_reason():
    clock = Clock()

    def refuses(words):
        said = {"event": "error", "run": words["run"], "code": "refused", "message": "no io_uring"}
        return [said]

    path, _ = path_of(clock, b=ScriptedAgent(clock, sink=refuses))
    sample = path.take(CANDIDATE)
    assert (sample["flags"], sample["code"]) == ("failed", "refused")
    assert "no io_uring" in sample["message"]


def test_a_lost_host_gives_no_sample():
    clock = Clock()
    gone = ScriptedAgent(clock)
    gone.gone = True
    path, _ = path_of(clock, b=gone)
    with pytest.raises(HostError):
        path.take(CANDIDATE)


def test_a_knob_that_drifted_is_a_flag():
    path, endpoints = path_of(Clock())
    endpoints["a"].drift = lambda: ["a: mtu was 9000, is 1500"]
    assert path.take(CANDIDATE)["flags"] == "tuning_drift"


def test_the_first_look_finds_length_buffers_and_files_of_a_path():
    path, _ = path_of(Clock())
    found = path.scout(replace(CANDIDATE, buffer_B=0))
    assert found.bdp_B == pytest.approx(20.0 * 50)  # MB/s times the least RTT in us
    assert found.granted_B == 262144 // 2
    assert (found.cpus, found.open_files) == (2, 1000)
    clock = Clock()  # a first look that fails still lets the search begin
    path, _ = path_of(clock, b=ScriptedAgent(clock))
    found = path.scout(CANDIDATE)
    assert (found.bdp_B, found.granted_B) == (None, None)


def test_runs_are_short_against_the_budget_and_long_against_the_round_trip():
    assert timing_for(120).seconds == pytest.approx(0.5)
    assert timing_for(10).seconds == 0.2
    assert timing_for(86_400).seconds == 2.0
    long = lengthened(timing_for(120), 0.183)
    assert long.warmup_s >= 10 * 0.183 and long.seconds >= 5 * 0.183
    assert lengthened(timing_for(120), 50e-6) == timing_for(120)


def test_interrupts_of_two_machines_add_up_and_missing_meters_give_no_cost():
    flow = Direction(gen=result("gen"), sink=result("sink"))
    one = cpu_s_per_GB(RunOutcome((flow,), 0, 1.0), one_machine=True)
    two = cpu_s_per_GB(RunOutcome((flow,), 0, 1.0), one_machine=False)
    assert two - one == pytest.approx(0.2 / 0.02)
    blind = Direction(gen={**flow.gen, "meter": None}, sink=flow.sink)
    assert cpu_s_per_GB(RunOutcome((blind,), 0, 1.0), one_machine=True) is None
