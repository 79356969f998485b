"""What may be asked of a search, and what the present setting of a path is."""

import pytest
from lab_study import lab_study

from netlab.autotune.ask import Ask, default_study
from netlab.errors import BadInput
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
def test_what_cannot_be_asked_is_bad_input(case):
    wrong, said = WRONG[case]
    with pytest.raises(BadInput, match=said):
        Ask(**{"study": study(), "path": "a-b", **wrong})


def test_the_present_setting_is_the_groups_with_the_first_stream_count():
    start = Ask(study(), "a-b").start
    assert (start.record_length_B, start.buffer_B, start.streams) == (1000, 262144, 4)
    assert dict(start.words)["receive"] == "copy"
    assert dict(Ask(study(receive="discard"), "a-b").start.words)["receive"] == "discard"


def test_direction_and_sender_choose_the_group():
    assert Ask(study(), "a-b", direction="<->").group.name == "both"
    assert Ask(study(), "a-b", direction="<->").start.buffer_B == 7
    assert Ask(study(), "a-b", sender="b").group.name == "back"
    forced = Ask(study(), "a-b", direction="<->", sender="b").group
    assert (forced.direction, forced.sender) == ("<->", "b")


def test_a_path_without_a_group_starts_from_the_defaults():
    group = Ask(study(), "bare").group
    assert (group.name, group.sender, group.direction) == ("bare", "b", "->")
    assert group.record_length_B == 65536


def test_without_a_study_there_is_a_lab_path():
    ask = Ask(default_study(), "lab")
    assert ask.group.sender == "gen"
    assert ask.error == pytest.approx(0.05)
