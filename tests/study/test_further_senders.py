"""A path that more than two hosts share: its file, what is refused, and what stays as it was."""

from __future__ import annotations

import pytest
from refusals import refused
from study.flows_file import keys_of, written

from netlab.errors import BadInput
from netlab.study import flows, load
from netlab.study.file import load_stored
from netlab.study.flows import PlannedFlow
from netlab.study.frozen import freeze

HOSTS = {name: {"kind": "lab"} for name in "abcd"}
ENDS = {"ends": [{"host": "a"}, {"host": "b"}]}
EMULATOR = {"rtt_ms": 20.0, "rate_Mbps": 20.0}
PATH = {**ENDS, "also": [{"host": "c"}, {"host": "d"}], "link": {"emulator": EMULATOR}}
SHARED = {"hosts": HOSTS, "paths": {"slow": PATH}}
FLOWS = [{"count": 2}, {"from": "c", "count": 2}, {"from": "d"}]


def test_each_host_sends_its_flows(tmp_path):
    study = load(written(tmp_path, FLOWS, **SHARED))
    (group,) = study.groups
    assert study.path("slow").hosts == ("a", "b", "c", "d")
    assert study.senders(group) == ("a", "c", "d") and study.receiver(group) == "b"
    planned = flows.with_hosts(group.flows, group.sender)
    assert [flow.from_ for flow in planned] == ["a", "c", "d"]
    assert flows.from_text(flows.as_text(planned)) == planned


def test_streams_are_dealt_to_the_hosts_in_turn():
    planned = [PlannedFlow.model_validate(flow) for flow in FLOWS]
    own = {host: flows.streams_sent_by(planned, 10, "a", host) for host in "acd"}
    assert own == {"a": (0, 1, 5, 6), "c": (2, 3, 7, 8), "d": (4, 9)}
    assert flows.streams_sent_by((), 3, "a", "a") == (0, 1, 2)


def test_the_copy_beside_results_has_the_hosts(tmp_path):
    study = load(written(tmp_path, FLOWS, **SHARED))
    again = load_stored(freeze(study, tmp_path / "kept"))
    assert again.groups[0].flows == study.groups[0].flows
    assert again.paths == study.paths and keys_of(again) == keys_of(study)


def test_a_further_sender_or_its_flow_makes_other_conditions(tmp_path):
    whole = keys_of(load(written(tmp_path, FLOWS, **SHARED)))
    others = ({"from": "d", "count": 2}, {"from": "c"})
    assert whole.isdisjoint(keys_of(load(written(tmp_path, [FLOWS[0], *others], **SHARED))))
    fewer = {**SHARED, "paths": {"slow": {**PATH, "also": [{"host": "c"}]}}}
    two, alone = [{"count": 4}, {"from": "c"}], [{"count": 5}]
    assert keys_of(load(written(tmp_path, two, **SHARED))).isdisjoint(
        keys_of(load(written(tmp_path, two, **fewer)))
    )
    assert keys_of(load(written(tmp_path, alone, **fewer)))


def test_a_path_of_two_hosts_is_written_as_before(tmp_path):
    study = load(written(tmp_path))
    assert "also" not in study.paths["slow"].model_dump(mode="json")
    assert "also" not in freeze(study, tmp_path / "kept").read_text()


SSH = {name: {"kind": "ssh", "address": f"{name}.example.org"} for name in "abc"}


def ends(*hosts: str, **more: str) -> list[dict]:
    return [
        {"host": host, "interface": "eth0", "address": f"192.0.2.{number}", **more}
        for number, host in enumerate(hosts, 1)
    ]


def test_hosts_over_ssh_need_no_link_and_each_an_address(tmp_path):
    path = {"ends": ends("a", "b"), "also": ends("x", "y", "c")[2:]}
    content = {"hosts": SSH, "paths": {"slow": path}}
    study = load(written(tmp_path, [{}, {"from": "c", "count": 4}], **content))
    assert study.senders(study.groups[0]) == ("a", "c")
    bare = {"hosts": SSH, "paths": {"slow": {**path, "also": [{"host": "c"}]}}}
    with pytest.raises(BadInput, match="ssh host 'c' needs an address"):
        load(written(tmp_path, **bare))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ({**PATH, "also": [{"host": "a"}]}, "'a' is a host of the path already"),
        ({**PATH, "also": [{"host": "c"}, {"host": "c"}]}, "'c' is a host of the path already"),
        ({**PATH, "also": [{"host": "x"}]}, "no host is called 'x'"),
        ({**PATH, "also": [{"host": f"h{n}"} for n in range(8)]}, "at most 7 hosts, not 8"),
        ({**PATH, "link": {}}, "share an emulated link; give link an emulator"),
        ({**PATH, "link": {"emulator": {"with": "netem", "rtt_ms": 5}}}, "netem joins two hosts"),
    ],
)
def test_a_path_that_hosts_cannot_share_is_refused(tmp_path, path, reason):
    with pytest.raises(BadInput) as refused:
        load(written(tmp_path, [{"count": 5}], hosts=HOSTS, paths={"slow": path}))
    assert reason in str(refused.value)


def test_the_lab_names_interfaces_of_a_path_that_a_factor_sets_up_as_several(tmp_path):
    also = {**PATH, "also": [{"host": "c", "interface": "eth7"}]}
    content = {"hosts": HOSTS, "paths": {"slow": also}}
    assert load(written(tmp_path, [{"count": 5}], **content))
    with refused(BadInput, "E-STUDY-075", match=r"paths\.slow\.also"):
        load(written(tmp_path, [{"count": 5}], factors={"rate_Mbps": [10, 20]}, **content))


@pytest.mark.parametrize("host", ["a", "b", "c"])
def test_a_bus_of_lab_hosts_that_share_a_link_is_refused(tmp_path, host):
    """Two senders of 8 MB/s each had 200 % of the receiver's 8 MB/s, and no valid run."""
    bus = {"bandwidth_MBps": 8, "label": "slow"}
    hosts = {**HOSTS, host: {"kind": "lab", "bus": bus}}
    with pytest.raises(BadInput) as refused:
        load(written(tmp_path, FLOWS, **{**SHARED, "hosts": hosts}))
    assert f"leave out bus of {host}" in str(refused.value)


@pytest.mark.parametrize(
    ("entries", "more", "reason"),
    [
        ([{}, {"from": "x", "count": 4}], {}, "'x' is not a further host of path 'slow'; there"),
        ([{}, {"from": "b", "count": 4}], {}, "'b' is not a further host of path 'slow'; there"),
        (
            [{}, {"from": "c", "count": 4}],
            {"paths": {"slow": {**ENDS, "link": {"emulator": EMULATOR}}}},
            "it has no `also`",
        ),
        ([{"from": "c", "count": 5}], {}, "one at least is of the sender, 'a'"),
        ([{}, {"from": "c", "count": 4}], {"group": {"sender": "b"}}, "give sender: a"),
        ([{}, {"from": "c", "count": 4}], {"group": {"direction": "<->"}}, "in one direction"),
        ([{}, {"from": "c", "count": 4}], {"group": {"records": 9}}, "leave out records"),
        ([{}, {"from": "c", "count": 4}], {"group": {"cross_udp_Mbps": 5}}, "of one host"),
        ([{}, {"from": "c", "count": 4}], {"latency": {"probe": "udp"}}, "probe of latency"),
        ([{}, {"from": "c", "count": 4, "end_s": 5}], {}, "one of 'c' at least lasts as long"),
        (
            [{}, {"from": "c", "count": 4}],
            {"group": {"congestion": "reno+cubic"}},
            "'reno+cubic' is dealt to streams of one host",
        ),
        ([{}, {"from": "c", "count": 4}], {"group": {"generator": "iperf3"}}, "iperf3 has none"),
    ],
)
def test_flows_that_hosts_cannot_send_are_refused_with_the_reason(tmp_path, entries, more, reason):
    with pytest.raises(BadInput) as refused:
        load(written(tmp_path, entries, **{**SHARED, **more}))
    assert reason in str(refused.value)
