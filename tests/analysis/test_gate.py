"""Conditions of --fail-if: parsed strictly, and met by whole intervals."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.analysis.compare import Compared
from netlab.analysis.effects import Ratio
from netlab.analysis.gate import Condition
from netlab.errors import BadInput

ROWS = {
    "slow": (0.80, 0.75, 0.85, "slower", True),
    "a little slow": (0.93, 0.88, 0.97, "slower", True),
    "alike": (1.00, 0.98, 1.02, "the same", True),
    "open": (1.00, 0.80, 1.30, "cannot tell", True),
    "fast": (1.40, 1.30, 1.50, "faster", True),
    "slow and not ranked": (0.50, 0.40, 0.60, "cannot tell", False),
    "no interval": (0.50, math.nan, math.nan, "cannot tell", False),
}


@pytest.fixture
def compared():
    columns = ["ratio", "low", "high", "verdict", "ranked"]
    frame = pd.DataFrame.from_dict(ROWS, orient="index", columns=columns)
    frame = frame.rename_axis("group").reset_index()
    only = pd.DataFrame({"group": ["lost"], "side": ["A"], "reason": ["not measured"]})
    apart = pd.DataFrame({"item": [], "a": [], "b": []})
    return Compared(frame, ("group",), only, apart, Ratio(1, 1, 1), 0.95, 0.99, 5.0)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("slower", ["slow", "a little slow"]),
        ("slower > 5 %", ["slow"]),
        ("slower > 2.5%", ["slow", "a little slow"]),
        ("  slower  >   15  % ", []),
        ("faster > 20 %", ["fast"]),
        ("faster > 30 %", []),
        ("cannot tell", ["open", "slow and not ranked", "no interval"]),
        (
            "not the same",
            [name for name in ROWS if name != "alike"],
        ),
        ("ratio < 0.9", ["slow"]),
        ("ratio > 1.2", ["fast"]),
        ("missing", ["lost"]),
    ],
)
def test_a_condition_is_met_by_the_cells_whose_whole_interval_meets_it(compared, text, cells):
    assert Condition.parse(text).met_by(compared)["group"].tolist() == cells


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "slow", "slower 5 %", "slower > 5", "slower >= 5 %", "slower < 5 %"),
        *("slower > -5 %", "slower > 100 %", "slower > nan %", "slower > 1e3 %", "slower>5%"),
        *("SLOWER", "cannot  tell > 5 %", "the same", "ratio < 0", "ratio < 5 %", "ratio = 1"),
        *("slower > 5 %; faster", "slower or faster", "slower > 5 % x", "slower > ٥ %"),
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(BadInput) as caught:
        Condition.parse(text)
    assert caught.value.code == "E-ANALYSIS-031" and caught.value.exit_code == 2


@given(st.text(max_size=30))
def test_no_text_is_read_as_something_it_is_not(text):
    try:
        found = Condition.parse(text)
    except BadInput:
        return
    assert found.text.split()[0] in {"slower", "faster", "cannot", "not", "missing", "ratio"}
