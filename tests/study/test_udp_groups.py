"""Groups of datagrams: crossed like any other, and refused with what UDP does not have."""

from __future__ import annotations

import pytest
from study.crossed_study import CONTEXT, crossed, runs_of

from netlab.errors import BadInput
from netlab.study import Udp
from netlab.study.durations import run_s
from netlab.study.keys import provenance_key
from netlab.study.model import combinations
from netlab.study.schedule import rounds, visits

GROUP = {"name": "one", "path": "cable", "sender": "left", "generator": "udp"}
GROUP |= {"record_length_B": 1472}
RATE = {"socket": {"pacing_MBps": 5.0}}


def udp(group: dict | None = None, **changes):
    return crossed(**{**RATE, "groups": [{**GROUP, **(group or {})}], **changes})


def test_size_rate_and_options_are_factors():
    levels = {"record_length_B": [18, 1472], "pacing_MBps": [1.0, 10.0], "gso": [False, True]}
    group = {"record_length_B": 65536, "factors": levels}  # the group's own size is the default
    study = udp(group, socket={}, streams=[1])
    runs = runs_of(study)
    assert len(runs) == 2 * 2 * 2 * 2
    taken = {(r.group.record_length_B, r.study(study).socket.pacing_MBps) for r in runs}
    assert taken == {(18, 1.0), (18, 10.0), (1472, 1.0), (1472, 10.0)}
    assert {r.study(study).udp.gso for r in runs} == {False, True}
    assert study.generators("cable") == ()


def test_other_tools_send_datagrams_too():
    levels = {"generator": ["udp", "iperf3-udp", "iperf2-udp"]}
    group = {name: value for name, value in GROUP.items() if name != "generator"}
    study = crossed(**RATE, groups=[{**group, "factors": levels}])
    assert study.generators("cable") == ("iperf3-udp", "iperf2-udp")
    assert udp({"generator": "iperf3-udp"}, udp={"gso": True, "gro": True}).udp.gro


def test_options_of_datagrams_are_another_run_and_study():
    plain, joined = udp(), udp(udp={"gro": True})
    assert plain.udp == Udp() and plain.digest() != joined.digest()
    assert plain.digest() == udp(udp={"gro": False}).digest()
    firsts = [(study, visits(study)[0]) for study in (plain, joined)]
    assert len({provenance_key(s, v, v.runs[0], CONTEXT) for s, v in firsts}) == 2
    assert run_s(plain, runs_of(plain)[0]) > run_s(plain)


def test_a_group_of_tcp_stands_beside_one_of_datagrams():
    tcp = {"name": "two", "path": "cable", "sender": "left"}
    own = {**GROUP, "factors": {"pacing_MBps": [5.0], "gso": [True]}}
    study = crossed(groups=[own, tcp])
    assert [len([*combinations(study, group)]) for group in study.groups] == [4, 4]
    assert len(rounds(study)) == 2


@pytest.mark.parametrize(
    ("group", "changes", "match"),
    [
        ({}, {"socket": {}}, "socket.pacing_MBps: .* needs a rate: MB/s of payload"),
        ({"record_length_B": 65536}, {}, "not 65536; leave it out to fill"),
        ({"generator": "netlab", "record_length_B": 0}, {}, "0 is for datagrams"),
        ({"record_length_B": 17}, {}, "a datagram has 18 to 65507 bytes"),
        ({"record_length_B": 65508}, {}, "a datagram has 18 to 65507 bytes"),
        ({"record_length_B": 1473}, {}, "1501 B exceeds the MTU of 1500 B"),
        ({}, {"udp": {"gso": True, "fragment": True}}, "gso and fragment"),
        ({"congestion": "reno"}, {}, "congestion: udp has none"),
        ({"records": 5}, {}, "only netlab sends an amount"),
        ({}, {"engine": "epoll"}, "engine: is for TCP"),
        ({}, {"trace": True}, "trace: is for TCP"),
        ({}, {"policy": {"batch_B": 1}}, "policy: is for TCP"),
        ({}, {"socket": {"pacing_MBps": 1.0, "nodelay": True}}, "nodelay are for TCP"),
        ({"generator": "netlab"}, {"udp": {"gso": True}}, "is for the generator udp"),
        ({"generator": "iperf3"}, {"udp": {"gro": True}}, "is for the generator udp"),
        ({"factors": {"gso": [True]}}, {"udp": {"gso": True}}, "factor too"),
        ({"generator": "iperf3-udp"}, {"udp": {"gso": True}}, "iperf3 gso with gro"),
        ({"generator": "iperf2-udp"}, {"udp": {"gso": True, "gro": True}}, "has a rate alone"),
        ({"generator": "iperf2-udp"}, {"socket": {"pacing_MBps": 1, "dscp": 8}}, "a rate alone"),
        ({"generator": "iperf3-udp"}, {"latency": {"probe": "udp"}}, "which has no probe"),
        ({"generator": "iperf3-udp"}, {"socket": {}}, "needs a rate"),
    ],
)
def test_what_datagrams_cannot_be_is_refused(group, changes, match):
    with pytest.raises(BadInput, match=match):
        udp(group, **changes)


def test_without_a_size_datagrams_fill_a_packet():
    group = {name: value for name, value in GROUP.items() if name != "record_length_B"}
    study = crossed(**RATE, groups=[group])
    assert {run.group.record_length_B for run in runs_of(study)} == {0}
    tools = {"factors": {"generator": ["netlab", "udp"], "pacing_MBps": [5.0]}}
    tcp = {name: value for name, value in group.items() if name != "generator"}
    sizes = {
        r.group.generator: r.group.record_length_B for r in runs_of(crossed(groups=[tcp | tools]))
    }
    assert sizes == {"netlab": 65536, "udp": 0}
    sized = crossed(**RATE, groups=[group | {"factors": {"record_length_B": [18, 0]}}])
    assert {run.group.record_length_B for run in runs_of(sized)} == {18, 0}


def test_fragments_may_exceed_the_mtu():
    assert udp({"record_length_B": 9000}, udp={"fragment": True}).udp.fragment
