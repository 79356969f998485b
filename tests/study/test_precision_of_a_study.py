"""A study says how precise its cells are to be, and the looks follow from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlab_study import CONTENT, OPENLAB, study_with

from netlab.errors import BadInput
from netlab.files.yaml_file import validated
from netlab.study import Study, load
from netlab.study.precision import Precision, duration_s
from netlab.study.schedule import rounds


@pytest.mark.parametrize(
    ("text", "seconds"), [("20min", 1200), ("90 s", 90), ("1.5h", 5400), (30, 30), (" 2 min ", 120)]
)
def test_a_budget_is_a_duration(text, seconds):
    assert Precision(budget=text).budget == seconds


@pytest.mark.parametrize("text", ["", "20", "min", "20 minutes", "-1s", "1e3s", "20min 3s"])
def test_another_text_is_not_a_duration(text):
    with pytest.raises(ValueError, match="20min"):
        duration_s(text)


@given(st.integers(2, 1000), st.integers(2, 1000))
def test_looks_ascend_from_the_least_to_the_most_rounds(least, most):
    if most < least:
        with pytest.raises(ValueError, match="max_rounds"):
            Precision(min_rounds=least, max_rounds=most)
        return
    looks = Precision(min_rounds=least, max_rounds=most).looks
    assert looks[0] == least and looks[-1] == most
    assert list(looks) == sorted(set(looks)) and len(looks) < 20


def test_rounds_and_a_precision_exclude_each_other():
    content = {**CONTENT, "precision": {"half_width_percent": 3}}
    with pytest.raises(BadInput, match=r"timing.rounds"):
        validated(Study, content, "my.yml")
    with pytest.raises(BadInput, match="`rounds`"):
        study_with("timing", "repeats", 3)  # its old name


def test_rounds_that_are_given_take_the_place_of_a_precision_and_the_reverse():
    part = load(OPENLAB, precision=2.5, max_rounds=7)
    assert (part.min_rounds, part.max_rounds, len(rounds(part))) == (4, 7, 7)
    assert part.precision.half_width_percent == 2.5
    asked = load(CONTENT, precision=3.0, max_rounds=6, budget="90s")
    assert asked.timing.rounds is None
    assert asked.precision == Precision(half_width_percent=3.0, max_rounds=6, budget=90)
    neither = validated(Study, {**CONTENT, "timing": {"seconds": 1.0}}, "my.yml")
    for fixed, count in (
        (load(OPENLAB, rounds=2), 2),
        (load(OPENLAB, quick=True), 3),
        (neither, 3),
    ):
        assert fixed.precision is None and (fixed.min_rounds, fixed.max_rounds) == (count, count)
