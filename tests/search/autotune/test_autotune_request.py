"""Valid search requests, and the current settings of a path."""

import pytest
from lab_study import lab_study
from refusals import refused

from netlab.errors import BadInput
from netlab.search.autotune.candidates import Candidate
from netlab.search.autotune.request import SearchRequest, default_study
from netlab.study import Study

PATHS = {
    "a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": {}},
    "bare": {"ends": [{"host": "b"}, {"host": "a"}], "link": {}},
}


def study(**more) -> Study:
    content = lab_study(paths=PATHS).model_dump(mode="python")
    content["groups"] = [
        {"name": "one", "path": "a-b", "sender": "a", "record_length_B": 1000},
        {"name": "both", "path": "a-b", "sender": "a", "direction": "<->", "buffer_B": 7},
        {"name": "back", "path": "a-b", "sender": "b", "record_length_B": 2000},
    ]
    return Study.model_validate({**content, "streams": (4, 1), **more})


WRONG = {
    "no such path": ({"path": "c-d"}, "a-b"),
    "too short": ({"seconds": 9.9}, "seconds"),
    "too long": ({"seconds": 1e6}, "seconds"),
    "no number": ({"seconds": float("nan")}, "seconds"),
    "aim": ({"aim": "latency"}, "for"),
    "direction": ({"direction": "<-"}, "direction"),
    "sender": ({"sender": "c"}, "sender"),
    "tuning": ({"tuning": "full"}, "tuning"),
    "mtu": ({"mtu_B": 100}, "mtu"),
    "engines": ({"engines": "some"}, "engines"),
    "seed": ({"seed": -1}, "seed"),
    "level": ({"given": {"streams": (0,)}}, "streams"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_invalid_request_is_bad_input(case):
    wrong, said = WRONG[case]
    with pytest.raises(BadInput, match=said):
        SearchRequest(**{"study": study(), "path": "a-b", **wrong})


def test_the_present_setting_is_the_groups_with_the_first_stream_count():
    assert SearchRequest(study(), "a-b").start == Candidate(1000, 0, 4)
    assert SearchRequest(study(receive="discard"), "a-b").start.receive == "discard"


def test_a_group_may_have_its_own_streams_and_another_receivers_buffer():
    content = study().model_dump(mode="python")
    own = {"streams": (1,), "buffer_B": 262144, "receive_buffer_B": 99, "congestion": "reno"}
    content["groups"][0].update(own)
    start = SearchRequest(Study.model_validate(content), "a-b").start
    assert (start.streams, start.buffer_B, start.receive_buffer_B) == (1, 262144, 99)
    assert start.at("buffer_B", 262144) == start  # the present level stays as it is
    assert start.at("buffer_B", 0).receive_buffer_B is None
    assert start.at("streams", 4).receive_buffer_B == 99


def test_groups_of_other_tools_are_passed_over():
    content = study().model_dump(mode="python")
    content["groups"][0]["generator"] = "iperf3"
    assert SearchRequest(Study.model_validate(content), "a-b").group.name == "both"
    content["groups"] = content["groups"][:1]
    with pytest.raises(BadInput, match="iperf3"):
        SearchRequest(Study.model_validate(content), "a-b")


def test_direction_and_sender_choose_the_group():
    assert SearchRequest(study(), "a-b", direction="<->").group.name == "both"
    assert SearchRequest(study(), "a-b", direction="<->").start.buffer_B == 7
    assert SearchRequest(study(), "a-b", sender="b").group.name == "back"
    forced = SearchRequest(study(), "a-b", direction="<->", sender="b").group
    assert (forced.direction, forced.sender) == ("<->", "b")
    assert forced.name not in {group.name for group in study().groups}
    assert forced.buffer_B == 7


def test_a_path_without_a_group_starts_from_the_defaults():
    group = SearchRequest(study(), "bare").group
    assert (group.name, group.sender, group.direction) == ("bare", "b", "->")
    assert group.record_length_B == 65536


def test_without_a_study_there_is_a_lab_path():
    ask = SearchRequest(default_study(), "lab")
    assert ask.group.sender == "gen"
    assert ask.error == pytest.approx(0.05)


def crossing(**factors) -> Study:
    content = study().model_dump(mode="python")
    paths = {**content["paths"], "a-b": {"ends": PATHS["a-b"]["ends"], "link": {}}}
    groups = [
        {key: group[key] for key in ("name", "path", "sender")} for group in content["groups"]
    ]
    return Study.model_validate({**content, "paths": paths, "groups": groups, "factors": factors})


KEYS = [
    ({"send": ["copy", "zerocopy"]}, "send (copy, zerocopy) as send"),
    ({"rtt_ms": [0.0, 10.0]}, "rtt_ms (0, 10) as paths.a-b.link.emulator.rtt_ms"),
    ({"queues": [1, 2]}, "queues (1, 2) as paths.a-b.link.queues"),
    ({"rate_Mbps": [100.0]}, "rate_Mbps (100) as paths.a-b.link.rate_Mbps, or emulator"),
    ({"offloads": ["none", "all"]}, "(none, all) as paths.a-b.link.segmentation_offload and"),
    ({"record_length_B": [1000, 2000]}, "record_length_B (1000, 2000) as record_length_B of the"),
    ({"nodelay": [True, False]}, "nodelay (true, false) as socket.nodelay"),
    ({"batch_B": [65536]}, "batch_B (65536) as policy.batch_B"),
]


@pytest.mark.parametrize(("factors", "said"), KEYS)
def test_a_group_that_crosses_factors_is_refused_with_the_key_of_each(factors, said):
    with refused(BadInput, "E-AUTOTUNE-017") as caught:
        SearchRequest(crossing(**factors), "a-b")
    assert said in str(caught.value) and "without `factors`" in str(caught.value)


def test_streams_of_unequal_flows_are_alike_but_for_their_stack():
    content = study().model_dump(mode="python")
    flows = [{"congestion": "bbr", "start_s": 0.5}, {"congestion": "cubic", "count": 3}]
    content["groups"] = [
        {"name": "one", "path": "a-b", "sender": "a", "flows": flows, "streams": [4]}
    ]
    group = SearchRequest(Study.model_validate(content), "a-b").group
    assert group.flows == () and group.congestion == "bbr+3*cubic"


def test_factors_of_another_path_or_of_a_person_do_not_matter():
    content = study().model_dump(mode="python")
    other = {"name": "other", "path": "bare", "sender": "b", "factors": {"dscp": [0, 8]}}
    content["groups"] = [*content["groups"], other]
    content["outer"] = {"kernel": ["smp", "up"]}
    whole = Study.model_validate(content)
    assert SearchRequest(whole, "a-b").group.name == "one"
    with refused(BadInput, "E-AUTOTUNE-017"):
        SearchRequest(whole, "bare")
