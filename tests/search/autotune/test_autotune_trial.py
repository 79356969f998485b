"""One run of one candidate with scripted agents: its sample and its time limits."""

from dataclasses import replace

import pytest
from experiment.scripted_endpoint import endpoint
from lab_study import lab_study
from measure.scripted import Clock, ScriptedAgent, good_agent, result

from netlab.errors import HostError
from netlab.files.recorded_facts import end_facts
from netlab.measure.exchange import Direction, RunOutcome
from netlab.search.autotune.candidates import Candidate
from netlab.search.autotune.request import SearchRequest
from netlab.search.autotune.trial import HANG_S, PathUnderTest, cpu_s_per_GB, lengthened, timing_for
from netlab.study import Timing

STUDY = lab_study()
CANDIDATE = Candidate(131072, 1 << 20, 2)


def path_of(clock: Clock, end_s: float = 10_000.0, **more) -> tuple[PathUnderTest, dict]:
    agents = {"a": good_agent(clock), "b": good_agent(clock), **more}
    endpoints = {name: endpoint(name, agent) for name, agent in agents.items()}
    for end in endpoints.values():
        end.facts = end_facts({"cpus": 2, "mtu_B": 1500, "boot_id": "1-a"})
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
