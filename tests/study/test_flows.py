"""Flows that are unequal: what a study takes and refuses, and what its runs ask of the agents."""

from __future__ import annotations

import math

import pytest
import yaml
from study.flows_file import PAIR, keys_of, written

from netlab import study as studies
from netlab.errors import BadInput
from netlab.files.paths import data_dir
from netlab.lab.topology import topology
from netlab.study import durations, flows, schedule
from netlab.study.file import load
from netlab.study.flows import PlannedFlow
from netlab.study.frozen import frozen_text
from netlab.study.schema import json_schema
from netlab.study.shortened import short_form

LINK = {"link": {"emulator": {"rtt_ms": 20.0}}}
ENDS = {"ends": [{"host": "a"}, {"host": "b"}]}


SECOND = {"rtt_ms": 30.0, "rate_Mbps": 40.0, "queue_packets": 50, "loss": 0.01}
LOT = {
    "slow": {**ENDS, "link": {"emulator": {"rtt_ms": 20.0, "rate_Mbps": 20.0, "second": SECOND}}}
}


def test_the_stacks_of_flows_are_the_congestion_of_their_runs(tmp_path):
    study = load(written(tmp_path))
    (group,) = study.groups
    assert study.congestion_of(group) == "bbr+4*cubic"
    assert study.congestions() == ("bbr", "cubic")
    assert flows.from_text(flows.as_text(group.flows)) == group.flows
    assert flows.together_s(group.flows) == (2.0, math.inf)
    again = load(yaml.safe_load(frozen_text(study)))
    assert again.groups[0].flows == group.flows and again.digest() == study.digest()


@pytest.mark.parametrize(
    ("entries", "default", "joined"),
    [
        ([PlannedFlow(count=2), PlannedFlow(count=3, start_s=1.0)], "cubic", "cubic"),
        ([PlannedFlow(congestion="bbr"), PlannedFlow(count=3)], "cubic", "bbr+3*cubic"),
        ([PlannedFlow(count=2), PlannedFlow(count=3)], "", ""),
        (
            [PlannedFlow(congestion="a"), PlannedFlow(congestion="a"), PlannedFlow(congestion="b")],
            "",
            "2*a+b",
        ),
        ([PlannedFlow(congestion="a", count=4), PlannedFlow(congestion="a")], "", "a"),
        ([PlannedFlow()], "bbr+cubic", "bbr+cubic"),
    ],
)
def test_stacks_are_joined_as_they_are_dealt(entries, default, joined):
    assert flows.congestion(entries, default) == joined


@pytest.mark.parametrize(
    ("entries", "more", "reason"),
    [
        (PAIR, {"streams": [4]}, "are 5, and streams 4; give `streams: [5]`"),
        ([*PAIR[:1] * 9], {"streams": [9]}, "at most 8 entries"),
        (PAIR, {"group": {"congestion": "reno"}}, "'reno' is of none"),
        (PAIR, {"factors": {"congestion": ["reno"]}}, "'reno' is of none"),
        ([{"congestion": "bbr"}, {"count": 4}], {}, "some name no congestion control"),
        ([{}, {"count": 4, "start_s": 7.5}], {}, "a run is over after 7 s"),
        ([{}, {"count": 4, "end_s": 7.0}], {}, "a run is over after 7 s"),
        ([{}, {"count": 4, "start_s": 3, "end_s": 2}], {}, "ends at 2 s, and starts at 3 s"),
        ([{"start_s": 1}, {"count": 4, "start_s": 2}], {}, "one at least starts with the run"),
        ([{"end_s": 3}, {"count": 4, "end_s": 4}], {}, "one at least lasts as long as the run"),
        ([{"end_s": 3}, {"count": 4, "start_s": 3}], {}, "less than 2 samples of the window"),
        ([{"end_s": 1.1}, {"count": 4}], {}, "the window, which begins at 1 s"),
        (PAIR, {"group": {"records": 10}}, "runs of records"),
        (PAIR, {"engine": "plain"}, "plain engine"),
        ([{}, {"count": 4}], {"group": {"generator": "iperf3"}}, "iperf3 has none"),
        ([{"rtt_ms": 5}, {"count": 4}], {}, "some have no rtt_ms"),
        ([{"rtt_ms": 5, "count": 5}], {"paths": {"slow": ENDS}}, "has no emulator to delay them"),
        (
            [{"rtt_ms": 5, "count": 5}],
            {"paths": {"slow": {**ENDS, "link": {"emulator": {"with": "netem", "rtt_ms": 2}}}}},
            "netem of path 'slow' delays all alike",
        ),
        (
            [{"rtt_ms": 5, "count": 5}],
            {"paths": {"slow": {**LINK, "ends": [{"host": "a"}, {"host": "b", "port": 20000}]}}},
            "ports 10240 to 32767 name the flows; give b another",
        ),
        (
            [{"rtt_ms": 5, "count": 3000}, *[{"rtt_ms": 9}] * 7],
            {"streams": [3007]},
            "at most 2816 streams where 8 have an rtt_ms",
        ),
        (
            [{"rtt_ms": 5, "count": 5}],
            {"factors": {"rtt_ms": [5, 50]}},
            "the factor rtt_ms is of none",
        ),
        (PAIR, {"quick": {"seconds": 0.5, "warmup_s": 0.5}}, "a run is over after 1 s"),
        ([{"over": "first"}, {"count": 4}], {}, "the emulator of path 'slow' has no second link"),
        ([{"over": "second", "count": 5}], {"paths": {"slow": ENDS}}, "has no second link"),
        (
            [{"over": "first"}, {"count": 4}],
            {"paths": LOT, "group": {"direction": "<->"}},
            "in one direction; give direction: ->",
        ),
        ([{"rtt_ms": 5, "count": 5}], {"paths": LOT}, "round trips flows have by `over`"),
        (
            [{"over": "first", "count": 3000}, *[{}] * 7],
            {"paths": LOT, "streams": [3007]},
            "at most 2816 streams where 8 have an rtt_ms or over",
        ),
    ],
)
def test_flows_that_a_run_cannot_have_are_refused_with_the_reason(tmp_path, entries, more, reason):
    with pytest.raises(BadInput, match="flows") as refused:
        load(written(tmp_path, entries, **more))
    assert reason in str(refused.value)


def test_the_congestion_control_of_a_study_is_for_its_other_groups(tmp_path):
    study = load(written(tmp_path, congestion="reno"))
    assert study.congestion_of(study.groups[0]) == "bbr+4*cubic"


def test_the_short_form_lasts_as_long_as_the_flows_need(tmp_path):
    late = [{}, {"count": 4, "start_s": 2.4}]
    assert short_form(load(written(tmp_path, late)), "late.yml").timing.seconds == 6.0
    own = load(written(tmp_path, late, group={"timing": {"seconds": 4.0}}))
    assert short_form(own, "late.yml").groups[0].timing.seconds == 4.0
    assert short_form(load(written(tmp_path)), "late.yml").timing.seconds == 1.5


def test_round_trips_of_flows_are_delays_by_source_port(tmp_path):
    """Each way has its part; the warm-up and the estimated time follow the longest."""
    entries = [{"rtt_ms": 10.0}, {"count": 4, "rtt_ms": 500.0}]
    study = load(written(tmp_path, entries, timing={"seconds": 6.0, "rounds": 1}))
    (group,) = study.groups
    first, second = flows.source_ports(group.flows)
    last = second - 1
    assert flows.delays(group.flows, 0.25) == (
        f"{first}-{last}:2500,{second}-{last + second - first}:125000"
    )
    assert last + second - first <= 32_767
    assert flows.longest_rtt_s(group.flows, 0.02) == study.longest_rtt_s(group) == 0.5
    plain = load(written(tmp_path, [{}, {"count": 4}], timing={"seconds": 6.0, "rounds": 1}))
    assert flows.source_ports(plain.groups[0].flows) == []
    assert plain.longest_rtt_s(plain.groups[0]) == 0.02
    (run,), (short,) = (one.runs for each in (study, plain) for (one,) in schedule.rounds(each))
    assert durations.run_s(study, run) > durations.run_s(plain, short) + 9
    (path,) = topology(study).paths
    assert path.emulated_with == "netlab" and path.knows_flows
    assert {way.flow_delay_max_us for way in path.emulator.ways} == {500_000}
    assert {way.flow_delay_max_us for p in topology(plain).paths for way in ways_of(p)} <= {0}


def test_flows_over_one_of_two_links_are_known_by_source_port(tmp_path):
    entries = [{"over": "second"}, {"count": 2}, {"over": "first"}, {"over": "second"}]
    study = load(written(tmp_path, entries, paths=LOT))
    (group,) = study.groups
    span, starts = 5632, [10_240 + at * 5632 for at in range(4)]
    assert flows.source_ports(group.flows) == starts
    assert flows.ports_over(group.flows, "first") == f"{starts[2]}-{starts[2] + span - 1}"
    assert flows.ports_over(group.flows, "second") == (
        f"{starts[0]}-{starts[0] + span - 1},{starts[3]}-{starts[3] + span - 1}"
    )
    assert flows.ports_over((), "first") == "-"
    assert study.longest_rtt_s(group) == study.rtt_s("slow") == 0.05
    again = load(yaml.safe_load(frozen_text(study)))
    assert again.digest() == study.digest()
    assert again.paths["slow"].link.emulator.second.rate_Mbps == 40.0


def test_a_second_link_is_set_behind_the_first_one(tmp_path):
    """By netlab's emulator, in a lab that reserves the ports of its flows."""
    plan = topology(load(written(tmp_path, [{"count": 5}], paths=LOT)))
    assert type(plan).from_dict(plan.as_dict()) == plan
    (path,) = plan.paths
    assert path.emulated_with == "netlab" and path.knows_flows
    lines = path.emulator.requests()
    assert [line.split()[:3] for line in lines[2:]] == [
        ["set", "direction=ab", "hop=2"],
        ["set", "direction=ba", "hop=2"],
    ]
    first, second = (dict(w.split("=") for w in line.split()[1:]) for line in lines[::2])
    assert [first[k] for k in ("delay_us", "rate_bps", "loss_ppb")] == ["10000", "20000000", "0"]
    assert [second[k] for k in ("delay_us", "rate_bps", "queue_packets", "loss_ppb")] == [
        *("15000", "40000000", "50", "10000000")
    ]
    assert len({line.partition("seed=")[2].split()[0] for line in lines}) == 4


@pytest.mark.parametrize(
    ("second", "more", "reason"),
    [
        ({"queue_packets": 5}, {}, "second: a queue needs a rate_Mbps"),
        ({"queue_discipline": "codel"}, {}, "second: queue_discipline: a queue needs a rate"),
        (SECOND, {"with": "netem"}, "netem emulates one link: leave out second"),
        ({"trace": "x"}, {}, "trace"),
    ],
)
def test_a_second_link_that_cannot_be_is_refused(tmp_path, second, more, reason):
    path = {**ENDS, "link": {"emulator": {"rtt_ms": 20.0, "second": second, **more}}}
    with pytest.raises(BadInput) as refused:
        load(written(tmp_path, [{"count": 5}], paths={"slow": path}))
    assert reason in str(refused.value)


def test_a_forced_loss_needs_one_link(tmp_path):
    group = {"flows": [], "force_loss_at_s": 2.0}
    with pytest.raises(BadInput, match="has two links; a forced loss needs one"):
        load(written(tmp_path, paths=LOT, group=group))


def ways_of(path):
    return path.emulator.ways if path.emulator else ()


def test_each_part_of_a_flow_is_in_the_key_and_in_the_digest(tmp_path):
    plans = [
        [{}, {"count": 4}],
        [{}, {"count": 4, "start_s": 2.0}],
        [{}, {"count": 4, "end_s": 2.0}],
        [{}, {"count": 4, "pacing_MBps": 1.0}],
        [{"count": 2}, {"count": 3}],
        [{"congestion": "bbr"}, {"congestion": "cubic", "count": 4}],
        [{"rtt_ms": 10.0}, {"count": 4, "rtt_ms": 50.0}],
        [{"rtt_ms": 10.0}, {"count": 4, "rtt_ms": 60.0}],
    ]
    loaded = [load(written(tmp_path, plan)) for plan in plans]
    spans = [
        [{}, {"count": 4}],
        [{"over": "first"}, {"count": 4}],
        [{"over": "second", "count": 5}],
    ]
    loaded += [load(written(tmp_path, plan, paths=LOT)) for plan in spans]
    plans += spans
    assert len({study.digest() for study in loaded}) == len(plans)
    assert len(set.union(*map(keys_of, loaded))) == len(plans)


def test_a_study_without_unequal_flows_has_the_digest_it_always_had():
    """As computed before there were such keys."""
    assert studies.load(data_dir() / "studies" / "bufferbloat.yml").digest() == BUFFERBLOAT


BUFFERBLOAT = "ef5defc2c2b4fd73e3a7efdd06c67ee0ea105455cede957cbc654954f0c6518f"


def test_an_editor_knows_the_keys_of_a_flow():
    schema = json_schema()
    assert set(schema["$defs"]["PlannedFlow"]["properties"]) == {
        *("count", "congestion", "pacing_MBps", "rtt_ms", "over", "from", "start_s", "end_s")
    }
