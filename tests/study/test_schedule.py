"""A schedule is random within its rounds, complete, and the same for the same seed."""

from __future__ import annotations

import copy
import dataclasses
import random
from collections import Counter

import pytest
from openlab_study import CONTENT, OPENLAB, changed, study_with
from refusals import refused

from netlab.errors import BadInput
from netlab.files.yaml_file import validated
from netlab.study import Study, Timing, load
from netlab.study.durations import OVERHEAD_RTTS, OVERHEAD_S, measuring_s, run_s
from netlab.study.keys import provenance_key
from netlab.study.schedule import rounds, visit, visits
from netlab.study.tool_limits import limits_of

CONTEXT = {"version": "0.1.0", "hosts": {"linux64-a": {"kernel": "6.1"}}}


@pytest.fixture(scope="module")
def study() -> Study:
    return load(OPENLAB, rounds=3)


def test_a_round_visits_every_block_once_and_makes_every_cell_once(study):
    for number, planned in enumerate(rounds(study), 1):
        blocks = [each.block_id for each in planned]
        cells = [run.cell_id for each in planned for run in each.runs]
        assert len(set(blocks)) == len(blocks) == 14
        assert len(set(cells)) == len(cells) == 140
        assert {run.round for each in planned for run in each.runs} == {number}
        assert {each.round for each in planned} == {number}


def test_the_first_rounds_do_not_depend_on_their_number_and_have_orders_of_their_own(study):
    assert rounds(load(OPENLAB, rounds=5))[:3] == rounds(study)
    orders = [[each.block_id for each in planned] for planned in rounds(study)]
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_a_block_is_one_path_tuning_and_mtu(study):
    planned = rounds(study)[0]
    levels = {(level.name, mtu_B) for level in study.tunings for mtu_B in level.mtus_B}
    assert len(planned) == len(study.paths) * len(levels)
    assert {(b.path, b.tuning, b.mtu_B) for b in planned} == {
        (path, *level) for path in study.paths for level in levels
    }
    assert all(run.group.path == b.path for b in planned for run in b.runs)


def test_ids_are_unique_and_the_order_counts_from_0(study):
    planned = visits(study)
    runs = [run for b in planned for run in b.runs]
    assert len({b.visit_id for b in planned}) == len(planned)
    assert len({run.run_id for run in runs}) == len(runs) == 420
    assert [run.order for run in runs] == list(range(len(runs)))


def test_the_same_seed_gives_the_same_order_whatever_that_of_the_paths_in_the_file(study):
    random.seed(1)
    first = visits(study)
    random.seed(2)
    assert visits(load(OPENLAB, rounds=3)) == first
    content = copy.deepcopy(CONTENT)
    content["paths"] = dict(reversed(content["paths"].items()))
    turned = validated(Study, content, "my.yml")
    assert turned.digest() == study.digest()
    assert visits(turned) == visits(study)


def test_another_seed_gives_another_order_of_the_same_runs(study):
    first, other = visits(study), visits(study_with("seed", 2004))
    assert [b.block_id for b in first] != [b.block_id for b in other]
    ids = [{run.run_id for b in planned for run in b.runs} for planned in (first, other)]
    assert ids[0] == ids[1]
    within = {b.visit_id: [run.run_id for run in b.runs] for b in first}
    moved = sum([run.run_id for run in b.runs] != within[b.visit_id] for b in other)
    assert moved == len(other)


def test_first_runs_are_spread_over_the_stream_counts(study):
    """Over many seeds, each stream count comes first in a block about equally often."""
    first = Counter(
        b.runs[0].streams
        for seed in range(40)
        for b in visits(study.model_copy(update={"seed": seed}))
    )
    expected = sum(first.values()) / 4
    assert all(0.7 * expected < count < 1.3 * expected for count in first.values())


def test_a_visit_can_be_cut_to_some_of_its_runs(study):
    whole = visits(study)[0]
    _, second, _, fourth, *_ = whole.runs
    assert whole.only({fourth.run_id, second.run_id}).runs == (second, fourth)


@pytest.mark.parametrize(
    ("block", "number", "code"),
    [
        *((block, 1, "E-STUDY-003") for block in ("", "64-64@none", "64-64@none@1501", "../x")),
        *(("64-64@none@1500", number, "E-STUDY-060") for number in (0, 4)),
    ],
)
def test_an_unknown_block_or_round_is_bad_input(study, block, number, code):
    with refused(BadInput, code) as caught:
        visit(study, block, number)
    assert caught.value.value == (block if number == 1 else number)


def test_measuring_time_is_warm_up_and_window(study):
    planned = [run for b in visits(study) for run in b.runs]
    assert measuring_s(study, planned) == pytest.approx(420 * (0.2 + 0.1))


def key_of(study: Study, context: dict = CONTEXT) -> str:
    """Provenance key of one run: 32 -> 64, none, 1500 B, 4 streams, round 2."""
    planned = visit(study, "32-64@none@1500", 2)
    run = next(run for run in planned.runs if (run.group.table, run.streams) in ((4, 4), (44, 4)))
    return provenance_key(study, planned, run, context)


@pytest.mark.parametrize(
    "change",
    [
        ("timing", "seconds", 1.3),
        ("timing", "warmup_s", 0.3),
        ("timing", "interval_ms", 100),
        ("congestion", "reno"),
        ("force_buffer", False),
        ("receive", "discard"),
        ("engine", "epoll"),
        ("threads", 2),
        ("send", "zerocopy"),
        *(("socket", {key: 10}) for key in ("dscp", "busy_poll_us")),
        *(("socket", {key: True}) for key in ("nodelay", "follow_incoming_cpu")),
        *(("socket", {key: "0"}) for key in ("cpus_sender", "cpus_receiver")),
        *(("socket", one) for one in ({"pacing_MBps": 10.0}, {"mss_B": 1000})),
        ("groups", 2, "record_length_B", 32768),
        ("groups", 2, "buffer_B", 0),
        ("groups", 2, "receive_buffer_B", 0),
        ("groups", 2, "congestion", "reno"),
        ("groups", 2, "records", 1000),
        ("timing", "drain_s", 9.0),
        ("groups", 2, "generator", "iperf3"),
        ("trace", True),
        ("paths", "32-64", "link", {"interrupt_delay_us": 0.0}),
        ("paths", "32-64", "link", {"rate_Mbps": 1000.0}),
        ("hosts", "linux32", "bus", "bandwidth_MBps", 800.0),
    ],
    ids=lambda change: ".".join(map(str, change[:-1])),
)
def test_a_condition_of_a_run_changes_its_key(study, change):
    assert key_of(study_with(*change)) != key_of(study)


@pytest.mark.parametrize(
    "change",
    [
        ("seed", 1),
        ("title", "Another"),
        ("description", "Another"),
        ("name", "another"),
        ("confidence", 0.9),
        ("streams", [4, 12]),
        ("timing", "rounds", 2),
        ("quick", "seconds", 0.2),
        ("groups", 2, "part", "another"),
        ("groups", 2, "short", False),
        ("groups", 2, "table", 44),
        ("groups", 2, "target_percent_of_bus", 50.0),
        ("groups", 0, "buffer_B", 0),
        ("groups", 2, "congestion", "cubic"),
        ("groups", 2, "streams", [4]),
        ("groups", 2, "tunings", ["none"]),
        ("hosts", "linux64-b", "bus", "bandwidth_MBps", 1.0),
        ("hosts", "linux32", "profiles", {"full": "openlab-2003-full"}),
        ("paths", "64-64", "link", {"rate_Mbps": 1000.0}),
        ("tunings", 1, "mtus_B", [1500]),
        ("tunings", 0, "label", "Untuned"),
        ("hosts", "linux32", "bus", "label", "Another"),
        ("noise", {"wait": 3.0}),
        ("noise", {"retries": 7}),
    ],
    ids=lambda change: ".".join(map(str, change[:-1])),
)
def test_other_values_leave_a_runs_key(study, change):
    assert key_of(study_with(*change)) == key_of(study)


def test_a_key_holds_the_stacks_that_its_run_names_and_no_others():
    aimd = {"law": "aimd", "increase": 6}

    def study(stacks: dict, congestion: str = "wad") -> Study:
        content = {**CONTENT, "congestion": congestion, "stacks": stacks}
        return Study.model_validate(content)

    key = key_of(study({"wad": aimd}))
    assert key_of(study({"wad": aimd, "other": {"law": "fast"}})) == key
    assert key_of(study({"wad": {**aimd, "decrease": 0.3}})) != key
    assert key_of(study({"wad": aimd}, "reno+wad")) != key
    assert study({"wad": aimd}, "reno+wad").congestions() == ("reno", "wad")


def test_the_context_changes_the_key_and_its_order_does_not(study):
    assert key_of(study, dict(reversed(CONTEXT.items()))) == key_of(study)
    assert key_of(study, {**CONTEXT, "version": "0.2.0"}) != key_of(study)


def test_a_group_may_take_only_some_of_the_studys_levels():
    levels = {"tunings": ["kernel", "none"], "mtus_B": [9000], "streams": [20, 1]}
    one = {**CONTENT["groups"][0], **levels}
    study = study_with("groups", [one, *CONTENT["groups"][1:]])
    cells = [("none", 9000, 1), ("none", 9000, 20), ("kernel", 9000, 1), ("kernel", 9000, 20)]
    assert list(study.levels(study.groups[0])) == cells
    found = {
        (planned.tuning, planned.mtu_B, run.streams)
        for planned in visits(study)
        for run in planned.runs
        if run.group == study.groups[0]
    }
    assert found == set(cells)


def test_a_block_that_no_group_wants_is_not_planned():
    alone = [{**CONTENT["groups"][0], "tunings": ["none"], "mtus_B": [1500]}]
    assert [b.block_id for b in rounds(study_with("groups", alone))[0]] == [
        f"{CONTENT['groups'][0]['path']}@none@1500"
    ]


def test_a_run_depends_on_the_version_of_its_own_generator_and_of_no_other():
    groups = [
        {**CONTENT["groups"][0], "name": name, "generator": name}
        for name in ("netlab", "iperf3", "nuttcp")
    ]
    study = validated(Study, {**copy.deepcopy(CONTENT), "groups": groups}, "my.yml")
    planned = visits(study)[0]
    found = {"iperf3": {"a": "iperf 3.12"}, "nuttcp": {"a": "nuttcp-6.1.2"}}
    newer = {**found, "iperf3": {"a": "iperf 3.16"}}

    def keys(generators: dict) -> dict[str, set[str]]:
        context = {**CONTEXT, "generators": generators}
        return {
            name: {
                provenance_key(study, planned, run, context)
                for run in planned.runs
                if run.group.generator == name
            }
            for name in ("netlab", "iperf3", "nuttcp")
        }

    before, after = keys(found), keys(newer)
    assert before["netlab"] == after["netlab"] and before["nuttcp"] == after["nuttcp"]
    assert not before["iperf3"] & after["iperf3"]


def test_a_drain_that_is_not_stated_follows_streams_rate_and_the_time_before():
    timing = Timing(seconds=1.5, warmup_s=0.3)
    assert timing.drain_at(1) == timing.drain_at(400, link_MBps=1250.0) == 5.0
    crowd_s = timing.drain_at(10_000)
    assert timing.drain_at(10_000, link_MBps=125.0) < crowd_s < 120.0
    assert crowd_s > 10_000 * 80_000 / 12.5e6
    assert timing.drain_at(40, link_MBps=0.125) > 20
    assert timing.drain_at(4, buffer_B=4 << 20, link_MBps=1.25) > 4 * (4 << 20) / 1.25e6
    # a stream whose timeouts doubled all the time tries again after as long once more
    assert Timing(seconds=30.0).drain_at(1) > 30.0
    assert Timing(seconds=3600.0).drain_at(10_000) == 120.0
    assert Timing(drain_s=1.0).drain_at(10_000) == 1.0


def test_a_derived_drain_is_in_no_key(study):
    derived = study_with("timing", "drain_s", None)
    assert key_of(derived) == key_of(study_with("timing", "drain_s", 5.0))


def test_a_warm_up_that_is_not_stated_follows_the_rtt():
    expected_s = {0: 0.3, 0.01: 0.3, 0.05: 1.0, 0.183: 3.66}
    assert {rtt_s: Timing().warmup_at(rtt_s) for rtt_s in expected_s} == expected_s
    assert Timing(warmup_s=0.1).warmup_at(0.183) == 0.1
    content = changed("paths", "64-64", "link", {"emulator": {"rtt_ms": 50.0, "rate_Mbps": 1000}})
    del content["timing"]["warmup_s"]
    long = validated(Study, content, "my.yml")
    (s64, s32) = (
        next(
            run_s(long, run) for each in visits(long) for run in each.runs if run.group.path == path
        )
        for path in ("64-64", "32-64")
    )
    assert s64 - s32 == pytest.approx(1.0 - 0.3 + OVERHEAD_RTTS * 0.05)
    content["factors"] = {"rtt_ms": [50, 183]}
    del content["paths"]["64-64"]["link"]["emulator"]["rtt_ms"]
    crossed = validated(Study, content, "my.yml")
    times_s = {run_s(crossed, run) for each in visits(crossed) for run in each.runs}
    assert max(times_s) - min(times_s) == pytest.approx(3.66 - 1.0 + OVERHEAD_RTTS * 0.133)


def test_another_generator_takes_longer_besides_its_window(study):
    run = visits(study)[0].runs[0]
    other = dataclasses.replace(run, group=run.group.model_copy(update={"generator": "iperf3"}))
    assert measuring_s(study, [other]) == measuring_s(study, [run])
    took_s = limits_of("iperf3").overhead_s - OVERHEAD_S["netlab"]
    assert run_s(study, other) - run_s(study, run) == pytest.approx(took_s)
