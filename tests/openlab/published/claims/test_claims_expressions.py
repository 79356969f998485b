"""Expressions are evaluated in a sandbox."""

import numpy as np
import pytest

from netlab.errors import BadInput
from netlab.openlab.published.claims.claim import evaluate, fill

NAMES = {"x": 3.0, "line": {4: 10.0}, "values": np.array([1.0, 2.0]), "twice": lambda v, n=2: n * v}


@pytest.mark.parametrize(
    "expression, value",
    [
        ("1 + 2 * x", 7),
        ("-x / 2 + x ** 2", 7.5),
        ("2 < x <= 3", True),
        ("1 < x < 2", False),
        ("x == 3 and not x > 4", True),
        ("x > 4 or x < 4", True),
        ("line[4] - 1", 9),
        ("twice(x) + twice(1, n=5)", 11),
        ('twice("ab")', "abab"),
        ("[1, x] == [1, 3]", True),
        (5, 5),
        ("100 * values - 1", [99, 199]),
        ("values > 1", [False, True]),
    ],
)
def test_an_expression_has_its_value(expression, value):
    assert np.array_equal(evaluate(expression, NAMES), value)


@pytest.mark.parametrize(
    "expression",
    ["unknown", "open('/etc/passwd')", "x.__class__", "(lambda: x)()", "x +", "x = 1", "range(9)"],
)
def test_anything_else_is_refused(expression):
    with pytest.raises(BadInput, match="not a usable expression"):
        evaluate(expression, NAMES)


def test_the_fields_of_a_text_are_expressions():
    assert fill("{x:.1f} of {twice(x):g} {{MB/s}}", NAMES) == "3.0 of 6 {MB/s}"
    assert fill("nothing to fill in", {}) == "nothing to fill in"
    with pytest.raises(BadInput, match="'wrong' is undefined"):
        fill("{wrong}", NAMES)
