"""Expressions are evaluated without being executed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import BadInput
from netlab.published.claims.expression import evaluate, fill

NAMES = {"x": 3.0, "line": {4: 10.0}, "values": np.array([1.0, 2.0]), "twice": lambda v, n=2: n * v}


@pytest.mark.parametrize(
    "expression, value",
    [
        ("1 + 2 * x", 7),
        ("-x ** 2 / 2", -4.5),
        ("2 < x <= 3", True),
        ("1 < x < 2", False),
        ("x == 3 and not x > 4", True),
        ("x > 4 or x < 4", True),
        ("line[4] - 1", 9),
        ("twice(x) + twice(1, n=5)", 11),
        ('twice("ab")', "abab"),
        ("[1, x] == [1, 3]", True),
        (5, 5),
    ],
)
def test_an_expression_has_its_value(expression, value):
    assert evaluate(expression, NAMES) == value


def test_arithmetic_on_arrays_is_element_by_element():
    assert list(evaluate("100 * values - 1", NAMES)) == [99, 199]
    assert list(evaluate("values > 1", NAMES)) == [False, True]


@given(st.floats(-1e6, 1e6), st.floats(1, 1e6))
def test_arithmetic_is_that_of_python(a, b):
    assert evaluate("(a + b) * a / b - a", {"a": a, "b": b}) == (a + b) * a / b - a


@pytest.mark.parametrize(
    "expression, problem",
    [
        ("unknown", "unknown name; known are line, twice, values, x"),
        ("open('/etc/passwd')", "unknown name"),
        ("__import__('os')", "unknown name"),
        ("x.__class__", "not allowed"),
        ("twice(x).real", "not allowed"),
        ("(lambda: x)()", "not allowed"),
        ("[v for v in values]", "not allowed"),
        ("twice(*values)", "not allowed"),
        ("x if x else 1", "not allowed"),
        ("x % 2", "not allowed"),
        ("x in values", "comparison not allowed"),
        ("x +", "not an expression"),
        ("x = 1", "not an expression"),
    ],
)
def test_anything_else_is_refused(expression, problem):
    with pytest.raises(BadInput, match=problem):
        evaluate(expression, NAMES)


def test_the_fields_of_a_text_are_expressions():
    assert fill("{x:.1f} of {twice(x):g} {{MB/s}}", NAMES) == "3.0 of 6 {MB/s}"
    assert fill("nothing to fill in", {}) == "nothing to fill in"
    with pytest.raises(BadInput, match="not allowed"):
        fill("{x.real}", NAMES)
