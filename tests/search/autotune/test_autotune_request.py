"""Valid search requests, and the current settings of a path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_study import lab_study
from refusals import refused

from netlab import core
from netlab.errors import BadInput
from netlab.search.autotune.candidates import (
    Candidate,
    PathLimits,
    buffer_levels,
    check_levels,
    engine_levels,
    factors,
    neighbours,
    shown,
    stream_levels,
    thinned,
)
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


# Levels of a search are within limits and include the current one.

START = Candidate(65536, 262144, 1)


def test_every_factor_holds_the_present_level():
    odd = Candidate(1000, 12345, 3)
    levels, _ = factors(odd, PathLimits(cpus=2))
    assert {"record_length_B", "buffer_B", "streams"} <= set(levels)
    for name, some in levels.items():
        assert odd.level(name) in some
        assert len(set(some)) == len(some)
    assert levels["record_length_B"][:2] == (1000, 4096)
    assert levels["record_length_B"][-1] == 4 << 20


def test_bytes_stay_copied_unless_all_engines_are_asked_for():
    same, refused = factors(START, PathLimits())
    assert "receive" not in same and "send" not in same
    every, refused = factors(START, PathLimits(), engines="all")
    assert set(every["receive"]) >= {"copy", "discard"}
    assert every["receive"][0] == "copy"
    for word, why in refused.items():
        assert word.split("=")[0] in why


def test_the_core_lists_the_words_of_an_option():
    words, refused = engine_levels("receive")
    assert {"copy", "discard"} <= set(words)
    assert not {f"receive={word}" for word in words} & set(refused)


def test_given_levels_take_the_place_of_netlabs_own():
    levels, _ = factors(START, PathLimits(), given={"streams": (7, 5)})
    assert levels["streams"] == (1, 5, 7)


@pytest.mark.parametrize(
    ("name", "level"), [("streams", 0), ("streams", 10_001), ("record_length_B", 0)]
)
def test_a_level_beyond_the_cores_limits_is_bad_input(name, level):
    with pytest.raises(BadInput, match=name):
        check_levels({name: (level,)})
    check_levels({"buffer_B": (0, core.options()["buffer_B"].maximum)})


def test_buffers_range_from_the_kernels_default_to_beyond_the_bdp():
    assert buffer_levels(PathLimits())[:3] == (0, 64 << 10, 256 << 10)
    assert max(buffer_levels(PathLimits())) == 4 << 20
    assert max(buffer_levels(PathLimits(bdp_B=60e6))) >= 60e6
    assert max(buffer_levels(PathLimits(rate_MBps=1.25))) == 1 << 20
    assert max(buffer_levels(PathLimits(rate_MBps=0.01))) == 256 << 10
    assert buffer_levels(PathLimits(bdp_B=60e6, granted_B=212_992)) == (0, 65536, 212_992)


def test_streams_are_bounded_by_processors_and_open_files():
    assert stream_levels(PathLimits(cpus=1)) == (1, 2, 4, 8)
    assert stream_levels(PathLimits(cpus=8))[-1] == 32
    assert stream_levels(PathLimits(cpus=999))[-1] == 64
    assert stream_levels(PathLimits(cpus=8, open_files=70)) == (1, 2, 4)
    assert stream_levels(PathLimits(open_files=10)) == (1,)


@given(st.sets(st.integers(0, 1000), min_size=1, max_size=30), st.integers(0, 40), st.data())
def test_fewer_levels_hold_the_present_one_and_no_more_than_there_is_time_for(levels, most, data):
    levels = sorted(levels)
    present = data.draw(st.sampled_from(levels))
    for chosen in (thinned(levels, present, most), neighbours(levels, present, most)):
        assert present in chosen
        assert set(chosen) <= set(levels)
        assert list(chosen) == sorted(chosen)
        assert len(chosen) <= max(2, most)
        assert len(chosen) == len(levels) or len(chosen) >= 2


def test_neighbours_are_the_nearest():
    assert neighbours((1, 2, 4, 8, 16, 32, 64), 8, 9) == (2, 4, 8, 16, 32)
    assert neighbours((1, 2, 4, 8), 8, 2) == (4, 8)
    assert neighbours(("copy", "discard", "splice"), "copy", 2) == ("copy", "discard", "splice")


def test_a_candidate_has_a_text():
    assert START.label().startswith("records of 64 KiB, buffers of 256 KiB, 1 stream")
    assert shown("buffer_B", 0) == "the kernel's own buffers"
    other = START.at("receive", "discard").at("streams", 4)
    assert other.discards and not START.discards
    assert other.as_dict()["receive"] == "discard" and other.level("streams") == 4
