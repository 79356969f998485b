"""A check counts the open files that runs need, and warns of paths that do not do what is meant."""

from __future__ import annotations

import pytest
from lab_study import lab_study

from netlab.experiment.preflight import FILES_SPARE, bursts, most_files, unmarked
from netlab.study import Study


def needed(group: dict | None = None, **changes) -> int:
    """Files beside the spare ones, on a host of two CPUs."""
    content = lab_study().model_dump() | changes
    content["groups"] = [{**content["groups"][0], **(group or {})}]
    study = Study.model_validate(content)
    return most_files(study, study.groups, cpus=2) - FILES_SPARE


def greeted(streams: int) -> int:
    """Room for two connections of each stream that arrives with up to 127 others."""
    return 2 * min(streams, 128)


def test_one_direction_takes_a_file_a_stream_and_four_a_thread():
    assert needed(streams=[1, 10_000]) == 10_000 + 2 * 4 + greeted(10_000)
    assert needed({"direction": "<->"}, streams=[10_000]) == 2 * (10_000 + 2 * 4) + greeted(10_000)


@pytest.mark.parametrize(
    ("changes", "files"),
    [
        ({"streams": [10_000], "engine": "plain"}, 50_000),
        ({"streams": [10_000], "engine": "epoll", "threads": 8}, 10_000 + 8 * 4),
        ({"streams": [4]}, 4 + 4 * 4),
        ({"streams": [4], "engine": "epoll"}, 4 + 2 * 4),
    ],
)
def test_each_engine_has_its_threads(changes, files):
    assert needed(**changes) == files + greeted(changes["streams"][0])


def test_the_most_that_the_groups_of_the_path_measure_counts():
    assert needed({"streams": [4]}, streams=[4, 10_000], engine="epoll") == 4 + 2 * 4 + greeted(4)
    datagrams = {"generator": "udp", "record_length_B": 1000}
    paced = {"socket": {"pacing_MBps": 1.0}, "streams": [100]}
    assert needed(datagrams, **paced) == 2 * 100 + 2 * 4 + greeted(100)


def test_levels_of_a_factor_count():
    assert needed({"factors": {"engine": ["epoll", "plain"]}}, streams=[100]) == 500 + greeted(100)


EIGHT = {"loss": 0.04, "loss_burst_packets": 8.0}


@pytest.mark.parametrize(
    ("emulator", "changes", "says"),
    [
        # 0.2 s (2^7 - 1) is less than 30 s: 7 retries, each lost with 7/8
        (EIGHT, {"drain_s": 30.0}, "39 % of the streams that have one packet left in a burst"),
        (EIGHT, {"drain_s": 120.0}, "30 % of the streams"),
        ({"reverse": EIGHT}, {"drain_s": 30.0}, "in the 30 s that a run waits"),
        (EIGHT | {"loss_in_burst": 0.5}, {"drain_s": 30.0}, ""),
        (EIGHT | {"loss_burst_packets": 2.0}, {"drain_s": 30.0}, ""),
        ({"loss": 0.04}, {"drain_s": 1.0}, ""),
        ({"loss": 0.0, "loss_burst_packets": 8.0}, {"drain_s": 1.0}, ""),
    ],
)
def test_bursts_of_losses_that_outlast_a_run_are_warned_of(emulator, changes, says):
    content = lab_study().model_dump(mode="json")
    path = {
        "ends": [{"host": "a"}, {"host": "b"}],
        "link": {"emulator": {"rtt_ms": 20, **emulator}},
    }
    content |= {"paths": {"a-b": path}, "timing": {"seconds": 1.0, **changes}}
    study = Study.model_validate(content)
    (link,) = study.links
    found = [*bursts(study, link)]
    assert [check.status for check in found] == ["warn"] * (len(study.groups) if says else 0)
    assert all(says in check.text and "loss_in_burst" in check.text for check in found)


def test_datagrams_do_not_wait_for_a_burst_and_a_path_without_emulator_has_none():
    content = lab_study().model_dump(mode="json") | {"udp": {}, "socket": {"pacing_MBps": 1.0}}
    assert [*bursts(lab_study(), lab_study().links[0])] == []
    path = {"ends": [{"host": "a"}, {"host": "b"}], "link": {"emulator": {"rtt_ms": 20, **EIGHT}}}
    content["groups"] = [{"name": "d", "path": "a-b", "sender": "a", "generator": "udp"}]
    study = Study.model_validate(content | {"paths": {"a-b": path}})
    assert [*bursts(study, "a-b")] == []


ASKED = {"kind": "sysctl", "name": "net.ipv4.tcp_ecn", "value": 1}
DCTCP = {
    **{"kind": "sysctl", "name": "net.ipv4.tcp_congestion_control", "value": "dctcp"},
    "risk": "of all connections of the lab",
}
MARKS = {"rate_Mbps": 10.0, "queue_discipline": "codel", "queue_ecn": True}


@pytest.mark.parametrize(
    ("emulator", "changes", "warned"),
    [
        (MARKS, {}, ["a", "b"]),
        ({"rate_Mbps": 10.0, "mark_above_B": 30_000}, {}, ["a", "b"]),
        ({"rate_Mbps": 10.0, "second": MARKS}, {}, ["a", "b"]),
        ({"rate_Mbps": 10.0, "reverse": MARKS}, {}, ["a", "b"]),
        (MARKS | {"queue_ecn": False}, {}, []),
        ({"rate_Mbps": 10.0, "queue_discipline": "cake"}, {}, []),
        (MARKS, {"congestion": "dctcp"}, []),
        (MARKS, {"tunings": [{"name": "ecn", "knobs": [ASKED]}]}, []),
        (MARKS, {"tunings": [{"name": "ecn", "knobs": [{**ASKED, "value": 2}]}]}, ["a", "b"]),
        # AccECN of those that connect, and ECN to others
        (MARKS, {"tunings": [{"name": "ecn", "knobs": [{**ASKED, "value": 4}]}]}, []),
        (MARKS, {"tunings": [{"name": "ecn", "knobs": [{**ASKED, "value": 5}]}]}, ["a", "b"]),
        (MARKS, {"tunings": [{"name": "dctcp", "knobs": [DCTCP]}]}, []),
        (
            MARKS,
            {"congestion": "cubic", "tunings": [{"name": "dctcp", "knobs": [DCTCP]}]},
            ["a", "b"],
        ),
        # the factor makes links of their own for one group
        ({"rate_Mbps": 10.0, "queue_discipline": "codel"}, {}, ["b"]),
    ],
)
def test_flows_without_ecn_on_a_link_that_marks_are_warned_of(emulator, changes, warned):
    changes = dict(changes)
    content = lab_study().model_dump(mode="json")
    ends = [{"host": "a"}, {"host": "b"}]
    content["paths"] = {"a-b": {"ends": ends, "link": {"emulator": emulator}}}
    group = {"path": "a-b", "sender": "a", "congestion": changes.pop("congestion", None)}
    content["groups"] = [{**group, "name": "a"}, {**group, "name": "b"}]
    content["groups"].append(
        {
            **group,
            "congestion": None,
            "name": "datagrams",
            "generator": "udp",
            "factors": {"pacing_MBps": [1.0]},
        }
    )
    if warned == ["b"]:
        content["groups"][1]["factors"] = {"queue_ecn": [True]}
    study = Study.model_validate(content | changes)
    found = [check for link in study.links for check in unmarked(study, link)]
    assert {check.status for check in found} <= {"warn"}
    assert [check.subject for check in found] == [f"group {name}" for name in warned]
    assert all("net.ipv4.tcp_ecn to 1 in a tuning of a" in check.text for check in found)


ECN_OF = {
    name: {"knobs": [{**ASKED, "value": value}]} for name, value in (("asks", 1), ("refuses", 0))
}


@pytest.mark.parametrize(
    ("takes", "flows", "says"),
    [
        ({}, [{}, {"from": "c"}], ["no flow negotiates ECN", "to 1 in a tuning of a and c"]),
        (
            {"a": "asks"},
            [{}, {"from": "c"}],
            ["no flow of c negotiates ECN", "packets of c are dropped", "to 1 in a tuning of c,"],
        ),
        ({"c": "asks"}, [{}, {"from": "c"}], ["no flow of a negotiates", "in a tuning of a,"]),
        ({"a": "asks", "c": "asks"}, [{}, {"from": "c"}], []),
        ({"a": "asks"}, [{}, {"from": "c", "congestion": "dctcp"}], []),
        ({"c": "asks"}, [{}], ["no flow negotiates ECN", "to 1 in a tuning of a,"]),
        (
            {"a": "asks", "b": "refuses", "c": "asks"},
            [{}, {"from": "c"}],
            ["no flow negotiates ECN", "to 2 in place of 0 in a tuning of b,"],
        ),
        (
            {"a": "asks", "b": "refuses"},
            [{}, {"from": "c"}],
            ["to 1 in a tuning of c; ", "in place of 0 in a tuning of b,"],
        ),
    ],
)
def test_ecn_is_that_of_each_sender_and_of_the_receiver(takes, flows, says):
    hosts = {name: {"kind": "lab"} for name in "abc"}
    for name, profile in takes.items():
        hosts[name] = {"kind": "lab", "profiles": {"plain": profile}}
    ends = {"ends": [{"host": "a"}, {"host": "b"}], "also": [{"host": "c"}]}
    content = {
        **lab_study().model_dump(mode="json"),
        **{"hosts": hosts, "profiles": ECN_OF, "streams": [len(flows)], "congestion": "cubic"},
        "paths": {"p": {**ends, "link": {"emulator": MARKS}}},
        "groups": [{"name": "g", "path": "p", "sender": "a", "flows": flows}],
        "tunings": [{"name": "plain", "knobs": []}],
    }
    found = [check.text for check in unmarked(Study.model_validate(content), "p")]
    assert len(found) == (1 if says else 0)
    assert all(words in found[0] for words in says)


def test_ecn_of_both_directions_is_that_of_both_ends():
    for name, warned in (("a", ["b"]), ("b", ["a"])):
        hosts = {host: {"kind": "lab"} for host in "ab"}
        hosts[name] = {"kind": "lab", "profiles": {"plain": "asks"}}
        content = {
            **lab_study().model_dump(mode="json"),
            **{"hosts": hosts, "profiles": ECN_OF, "tunings": [{"name": "plain", "knobs": []}]},
            "paths": {"p": {"ends": [{"host": "a"}, {"host": "b"}], "link": {"emulator": MARKS}}},
            "groups": [{"name": "g", "path": "p", "sender": "a", "direction": "<->"}],
        }
        (check,) = unmarked(Study.model_validate(content), "p")
        assert f"no flow of {warned[0]} negotiates ECN" in check.text
