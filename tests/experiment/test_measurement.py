"""The parts of a run are put together one way: ends, request, ceilings, record and flags."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from lab_study import lab_study
from measure.scripted import Clock, ScriptedAgent, good_agent

from netlab.errors import RunError
from netlab.experiment.lab_pair import RECEIVER, SENDER, lab_pair
from netlab.experiment.measurement import (
    core_run,
    link_MBps,
    measured,
    request_of,
    setting_of,
    side_of,
    sides_of,
)
from netlab.study import Study, Timing

FACTS = {name: {"boot_id": "1-a"} for name in "ab"}
TIMING = Timing(rounds=1, seconds=1.0, warmup_s=0.3, drain_s=2.0)


def endpoint(name: str, agent=None, clamps=(None, None), drift=()) -> SimpleNamespace:
    """A double of an endpoint."""
    return SimpleNamespace(
        name=name,
        agent=agent,
        address=f"198.18.0.{ord(name)}",
        interface=f"to-{name}",
        buffer_clamps=lambda: clamps,
        may_force=True,
        kernel_names=lambda congestion: f"nl_{congestion}",
        drift=lambda: list(drift),
    )


def study(**changes) -> Study:
    return Study.model_validate(lab_study().model_dump() | changes)


def test_an_end_has_the_kernels_buffers_and_the_requests_congestion_control_by_default():
    side = side_of(endpoint("a", clamps=(1000, 2000)))
    assert (side.sndbuf_B, side.rcvbuf_B) == (0, 0)
    assert (side.congestion, side.cpus) == (None, None)
    assert (side.host, side.address, side.interface) == ("a", "198.18.0.97", "to-a")


def test_buffers_are_clipped_and_congestion_controls_have_the_kernels_name():
    side = side_of(endpoint("a", clamps=(1000, None)), buffer_B=5000, congestion="fast")
    assert (side.sndbuf_B, side.rcvbuf_B, side.congestion) == (1000, 5000, "nl_fast")


def test_each_end_of_a_group_has_its_own_buffer_and_cpus():
    made = study(socket={"cpus_sender": "0", "cpus_receiver": "1"})
    group = made.groups[0]
    ends = {name: endpoint(name) for name in "ab"}
    sender, receiver = sides_of(made, group, ends, buffer_B=10, receive_buffer_B=20)
    assert (sender.host, receiver.host) == (group.sender, made.receiver(group))
    assert (sender.sndbuf_B, receiver.rcvbuf_B) == (10, 20)
    assert (sender.cpus, receiver.cpus) == ("0", "1")
    assert sides_of(made, group, ends, buffer_B=10)[1].rcvbuf_B == 10


def test_a_request_has_the_options_of_the_study_and_the_times_given():
    made = study(send="splice", threads=3, force_buffer=True)
    asked = {"streams": 4, "record_length_B": 4096, "congestion": "reno"}
    request = request_of(made, TIMING, **asked)
    assert (request.send, request.threads, request.force_buffer) == ("splice", 3, True)
    times = request.warmup_ms, request.window_ms, request.interval_ms, request.drain_ms
    assert times == (300, 1000, 100, 2000)
    assert (request.streams, request.record_length_B, request.congestion) == (4, 4096, "reno")
    other = request_of(made, TIMING, **asked, both=True, send="copy", window_ms=0)
    assert (other.both, other.send, other.window_ms, other.threads) == (True, "copy", 0, 3)


def test_the_link_of_a_shaped_path_has_its_rate():
    links = {"fast": {}, "slow": {"rate_Mbps": 80.0}}
    pair = lab_pair("pair", "Two paths", links, [{"name": n, "path": n} for n in links])
    assert link_MBps(pair, "slow") == 10.0
    facts = {SENDER: {"boot_id": "1-a"}, RECEIVER: {"boot_id": "1-a"}}
    setting = setting_of(pair, "slow", 9000, memory_MBps=5.0, facts=facts)
    assert (setting.mtu_B, setting.link_MBps, setting.memory_MBps) == (9000, 10.0, 5.0)
    assert setting.one_machine
    for other in ({"boot_id": "2-b"}, {}):
        facts[RECEIVER] = other
        assert not setting_of(pair, "slow", 9000, facts=facts).one_machine
    assert [group.sender for group in pair.groups] == [SENDER] * 2
    assert pair.receiver(pair.groups[0]) == RECEIVER


def run_on(agents: dict, **more):
    """A run with scripted agents."""
    made = study()
    ends = {name: endpoint(name, agent, **more) for name, agent in agents.items()}
    sides = sides_of(made, made.groups[0], ends, buffer_B=0)
    request = request_of(made, TIMING, streams=2, record_length_B=4096, congestion="cubic")
    clock = agents["a"].clock
    return made, ends, lambda: core_run(*sides, request, mtu_B=1500, now=clock)


def test_a_run_is_recorded_and_flagged():
    clock = Clock()
    agents = {name: good_agent(clock) for name in "ab"}
    made, ends, run = run_on(agents, drift=["mtu was 9000, is 1500"])
    result = measured(
        run,
        setting=setting_of(made, "a-b", 1500, facts=FACTS),
        timing=TIMING,
        group=made.groups[0],
        endpoints=ends.values(),
        run_id="r1",
        named=lambda result: {"run_id": "r1", "flows": len(result.outcome.flows)},
    )
    assert (result.row["run_id"], result.row["flows"]) == ("r1", 1)
    assert result.row["goodput_MBps"] == pytest.approx(20.0)
    assert result.row["flags"] == "tuning_drift" and "mtu was 9000" in result.row["message"]
    assert set(result.intervals["run_id"]) == {"r1"}
    assert result.emulated is None


def test_a_run_over_an_emulated_path_is_made_between_its_reports():
    clock = Clock()
    made, ends, run = run_on({name: good_agent(clock) for name in "ab"})
    calls = []

    def around(group, inner):
        calls.append(group.name)
        inner()
        raise RunError("the emulator is gone")

    with pytest.raises(RunError, match="emulator is gone"):
        measured(
            run,
            setting=setting_of(made, "a-b", 1500, facts=FACTS),
            timing=TIMING,
            group=made.groups[0],
            endpoints=ends.values(),
            run_id="r1",
            emulation=SimpleNamespace(around=around),
        )
    assert calls == [made.groups[0].name] and ends["a"].agent.asked("gen")


def test_an_agent_that_does_not_answer_fails_the_run():
    clock = Clock()
    _, _, run = run_on({"a": good_agent(clock), "b": ScriptedAgent(clock)})
    with pytest.raises(RunError, match="in time"):
        run()
