"""Levels of a search are within limits and include the current one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
