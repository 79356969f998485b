"""The parts of a run are put together one way: ends, request, ceilings, record and flags."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from experiment.scripted_endpoint import endpoint
from lab_study import lab_study
from measure.scripted import Clock, ScriptedAgent, good_agent

from netlab.errors import RunError
from netlab.experiment.trial import (
    core_run,
    link_burst_B,
    link_MBps,
    measurement,
    probe_request,
    request_of,
    run_of,
    setting_of,
    side_of,
)
from netlab.files.recorded_facts import EndFacts, end_facts
from netlab.lab.pair import RECEIVER, SENDER, lab_pair
from netlab.study import Study, Timing

FACTS = {name: end_facts({"boot_id": "1-a"}) for name in "ab"}
TIMING = Timing(rounds=1, seconds=1.0, warmup_s=0.3, drain_s=2.0)


def study(**changes) -> Study:
    return Study.model_validate(lab_study().model_dump() | changes)


def test_buffers_are_clipped_and_congestion_controls_have_the_kernels_name():
    side = side_of(endpoint("a", clamps=(1000, 2000)))
    assert (side.sndbuf_B, side.rcvbuf_B, side.congestion, side.cpus) == (0, 0, None, None)
    assert (side.host, side.address, side.interface) == ("a", "198.18.0.97", "to-a")
    side = side_of(endpoint("a", clamps=(1000, None)), buffer_B=5000, congestion="fast")
    assert (side.sndbuf_B, side.rcvbuf_B, side.congestion) == (1000, 5000, "nl_fast")


def test_each_end_of_a_group_has_its_own_buffer_and_cpus():
    made = study(socket={"cpus_sender": "0", "cpus_receiver": "1"})
    group = made.groups[0].model_copy(update={"buffer_B": 10, "receive_buffer_B": 20})
    ends = {name: endpoint(name) for name in "ab"}
    sender, receiver, request = run_of(made, group, ends, TIMING, streams=4)
    assert (request.streams, request.record_length_B) == (4, group.record_length_B)
    assert (sender.host, receiver.host) == (group.sender, made.receiver(group))
    assert (sender.sndbuf_B, receiver.rcvbuf_B) == (10, 20)
    assert (sender.cpus, receiver.cpus) == ("0", "1")
    both = group.model_copy(update={"receive_buffer_B": None})
    assert run_of(made, both, ends, TIMING, streams=4)[1].rcvbuf_B == 10


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


def test_many_streams_on_a_slow_path_have_longer_to_end_and_probes_of_packets_do_not():
    made, timing = study(), Timing(seconds=1.5, warmup_s=0.3)
    ends = {name: endpoint(name) for name in "ab"}
    few, many = (
        run_of(made, made.groups[0], ends, timing, streams=streams)[2].drain_ms
        for streams in (4, 10_000)
    )
    assert few == 5000 and many > 60_000
    paths = {"a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": {"rate_Mbps": 10_000}}}
    fast = lab_study(paths=paths)
    request = run_of(fast, fast.groups[0], ends, timing, streams=10_000)[2]
    assert few == request.drain_ms
    assert probe_request(made, Timing(seconds=60.0)).drain_ms == 5000
    assert probe_request(made, TIMING).drain_ms == 2000


def layers(policy: str) -> EndFacts:
    """Facts of a host whose interface is a bond of two cards of 10 Gb/s."""
    cards = [{"name": name, "speed_Mbps": 10_000} for name in ("eth0", "eth1")]
    bond = {"name": "bond0", "kind": "bond", "lower": ["eth0", "eth1"], "mode": "802.3ad"}
    return end_facts({"layers": [{**bond, "hash_policy": policy}, *cards], "boot_id": policy})


@pytest.mark.parametrize(
    ("policy", "streams", "limit_MBps"),
    [("layer3+4", 1, 1250.0), ("layer3+4", 4, None), ("layer2", 4, 1250.0)],
)
def test_the_slave_that_all_streams_take_is_the_ceiling(policy, streams, limit_MBps):
    facts = {"a": layers(policy), "b": FACTS["b"]}
    setting = setting_of(
        lab_study(), "a-b", 9000, group=lab_study().groups[0], facts=facts, streams=streams
    )
    assert setting.link_MBps == limit_MBps
    assert setting.link_source == ("one slave of bond0 on a" if limit_MBps else "")


def test_a_run_has_the_buckets_of_the_ways_that_carry_data():
    emulator = {"rate_Mbps": 2, "burst_B": 500_000, "reverse": {"burst_B": 20_000}}
    links = {"slow": {"emulator": emulator}, "plain": {"rate_Mbps": 80.0}}
    ways = [{"name": "there", "path": "slow"}, {"name": "both", "path": "slow", "direction": "<->"}]
    pair = lab_pair("pair", "A bucket", links, [*ways, {"name": "none", "path": "plain"}])
    back = pair.groups[0].model_copy(update={"sender": RECEIVER})
    there, both, none = pair.groups
    assert link_burst_B(pair, "slow", there) == 500_000
    assert link_burst_B(pair, "slow", back) == 20_000
    assert link_burst_B(pair, "slow", both) == 520_000
    assert link_burst_B(pair, "plain", none) == 0
    facts = {SENDER: end_facts({}), RECEIVER: end_facts({})}
    assert setting_of(pair, "slow", 1500, group=there, facts=facts).burst_B == 500_000


def test_the_link_of_a_shaped_path_has_its_rate():
    links = {"fast": {}, "slow": {"rate_Mbps": 80.0}}
    pair = lab_pair("pair", "Two paths", links, [{"name": n, "path": n} for n in links])
    assert link_MBps(pair, "slow", pair.groups[1]) == 10.0
    facts = {host: end_facts({"boot_id": "1-a"}) for host in (SENDER, RECEIVER)}
    setting = setting_of(pair, "slow", 9000, group=pair.groups[1], memory_MBps=5.0, facts=facts)
    assert (setting.mtu_B, setting.link_MBps, setting.memory_MBps) == (9000, 10.0, 5.0)
    assert setting.one_machine
    for other in ({"boot_id": "2-b"}, {}):
        facts[RECEIVER] = end_facts(other)
        assert not setting_of(pair, "slow", 9000, group=pair.groups[1], facts=facts).one_machine
    assert [group.sender for group in pair.groups] == [SENDER] * 2
    assert pair.receiver(pair.groups[0]) == RECEIVER


def run_on(agents: dict, **more):
    """A run with scripted agents."""
    made = study()
    ends = {name: endpoint(name, agent, **more) for name, agent in agents.items()}
    group = made.groups[0].model_copy(update={"record_length_B": 4096})
    run = run_of(made, group, ends, TIMING, streams=2)
    clock = agents["a"].clock
    return made, ends, lambda: core_run(*run, mtu_B=1500, now=clock)


def test_a_run_is_recorded_and_flagged():
    clock = Clock()
    agents = {name: good_agent(clock) for name in "ab"}
    made, ends, run = run_on(agents, drift=["mtu was 9000, is 1500"])
    result = measurement(
        run,
        setting=setting_of(made, "a-b", 1500, group=made.groups[0], facts=FACTS),
        timing=TIMING,
        group=made.groups[0],
        endpoints=ends.values(),
        run_id="r1",
        named=lambda result: {"run_id": "r1", "flows": len(result.outcome.flows)},
    )
    assert (result.row["run_id"], result.row["flows"]) == ("r1", 1)
    assert result.row["goodput_MBps"] == pytest.approx(20.0)
    assert result.row["flags"] == "tuning_drift" and "mtu was 9000" in result.row["message"]
    assert {part["run_id"] for part in result.intervals} == {"r1"}
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
        measurement(
            run,
            setting=setting_of(made, "a-b", 1500, group=made.groups[0], facts=FACTS),
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
