"""A study says how precise its cells are to be, and the looks follow from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlab import CONTENT, OPENLAB, study_with

from netlab.errors import BadInput
from netlab.files.yaml_file import validated
from netlab.study import Study, load
from netlab.study.precision import Precision, duration_s


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


def test_rounds_take_the_place_of_a_precision():
    study = load(OPENLAB, rounds=2)
    assert study.precision is None and (study.min_rounds, study.max_rounds) == (2, 2)


def test_a_precision_takes_the_place_of_rounds():
    study = load(CONTENT, precision=3.0, max_rounds=6, budget="90s")
    assert study.timing.rounds is None
    assert study.precision == Precision(half_width_percent=3.0, max_rounds=6, budget=90)


def test_a_part_of_a_precision_leaves_the_rest():
    study = load(OPENLAB, precision=2.5)
    assert study.precision.half_width_percent == 2.5 and study.precision.min_rounds == 4


def test_a_study_without_rounds_has_three():
    content = {**CONTENT, "timing": {"seconds": 1.0}}
    study = validated(Study, content, "my.yml")
    assert (study.min_rounds, study.max_rounds) == (3, 3)


def test_the_old_name_of_rounds_is_refused_with_the_new_one():
    with pytest.raises(BadInput, match="`rounds`"):
        study_with("timing", "repeats", 3)


def test_the_short_form_has_fixed_rounds():
    short = load(OPENLAB, quick=True)
    assert short.precision is None and short.max_rounds == 2
