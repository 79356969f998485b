"""Types of answers are what code reads, and what an answer is checked against."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict, get_type_hints

import pytest
from pydantic_core import SchemaValidator, ValidationError

from netlab.files.answer_fields import COUNT, TEXT, Fits, schema_of
from netlab.files.answers import TYPED, checked
from netlab.files.run_results import Meter, StreamEnd, Tcp

RECORDED = Path(__file__).parents[1] / "measure" / "recorded_answers.json"
Count = Annotated[int, Fits(COUNT)]


class Place(TypedDict, total=False):
    name: Annotated[str, Fits(TEXT)]
    floors: Count | None


class House(Place, total=False):
    rooms: list[Place]
    cellar: NotRequired[Count]
    sold: bool


WHOLE = {"name": "a", "floors": None, "rooms": [{"name": "b", "floors": 1}], "sold": False}


def house(**changes: object) -> dict:
    return SchemaValidator(schema_of(House)).validate_python({**WHOLE, **changes})


def test_an_answer_has_every_field_of_its_type_though_readers_may_miss_them():
    assert house() == WHOLE and house(cellar=1)["cellar"] == 1
    assert "garden" not in house(garden=1)
    for lacking in ("name", "floors", "rooms", "sold"):
        rest = {name: value for name, value in WHOLE.items() if name != lacking}
        with pytest.raises(ValidationError, match=lacking):
            SchemaValidator(schema_of(House)).validate_python(rest)


@pytest.mark.parametrize(
    "wrong",
    [{"sold": 1}, {"floors": -1}, {"name": None}, {"rooms": [{"name": "b"}]}, {"cellar": None}],
)
def test_a_value_that_is_not_of_its_type_is_refused(wrong):
    with pytest.raises(ValidationError):
        house(**wrong)


def test_a_type_without_a_schema_is_refused():
    with pytest.raises(TypeError, match="float"):
        schema_of(float)


def recorded() -> list[dict]:
    answers = json.loads(RECORDED.read_text("utf-8")).values()
    return [answer for each in answers for answer in each if answer.get("event") in TYPED]


def test_the_types_have_the_fields_that_the_agents_send():
    assert {answer["event"] for answer in recorded()} == set(TYPED)
    for answer in recorded():
        assert checked(answer).keys() == answer.keys()
        assert answer.keys() - {"event"} <= get_type_hints(TYPED[answer["event"]]).keys()
        for stream in answer.get("per_stream", ()):
            assert stream.keys() == get_type_hints(StreamEnd).keys()
            assert not stream["tcp"] or stream["tcp"].keys() == get_type_hints(Tcp).keys()
        if "per_stream" in answer:
            assert answer["meter"]["window"].keys() == get_type_hints(Meter).keys()


@pytest.mark.parametrize("event", TYPED)
def test_an_answer_that_lacks_a_field_of_its_type_is_refused_with_its_name(event):
    answer = next(one for one in recorded() if one["event"] == event)
    for field in ("process", "t_go_ns"):
        if field in answer:
            broken = copy.deepcopy(answer)
            del broken[field]
            with pytest.raises(ValueError, match=f"{event} lacks {field}"):
                checked(broken)
