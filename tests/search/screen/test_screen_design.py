"""The designs: balanced, orthogonal, effects of knobs free of pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from refusals import refused

from netlab.errors import BadInput
from netlab.search.screen.design import (
    ALL_ROW,
    AUTO,
    FOLDED,
    FULL,
    LEAVE_ONE_OUT,
    MOST_KNOBS,
    NO_ROW,
    design,
)


def names(count: int) -> tuple[str, ...]:
    return tuple(f"k{number}" for number in range(count))


@pytest.mark.parametrize("count", range(1, MOST_KNOBS + 1))
def test_a_folded_design_is_orthogonal_and_free_of_pairs(count):
    plan = design(names(count), FOLDED)
    levels, runs = plan.levels, len(plan.levels)
    assert set(np.unique(levels)) == {-1, 1}
    assert (levels.T @ levels == runs * np.eye(count)).all(), "no knob is mixed with another"
    assert (levels.sum(axis=0) == 0).all(), "half of the rows have a knob"
    for a, b in combinations(range(count), 2):
        assert not (levels.T @ (levels[:, a] * levels[:, b])).any(), "a pair is in no knob's effect"
    assert runs <= max(8, 2 * count + 14)
    chosen = [tuple(np.array(plan.knobs)[row > 0]) for row in levels]
    assert list(plan.rows.values()) == chosen, "rows are named in the order of the levels"


@pytest.mark.parametrize("count", range(1, 7))
def test_a_full_design_has_every_combination_and_every_pair(count):
    plan = design(names(count), FULL)
    assert len({tuple(row) for row in plan.levels}) == len(plan.levels) == 2**count
    assert len(plan.pairs) == count * (count - 1) // 2


@pytest.mark.parametrize("kind", [FULL, FOLDED, LEAVE_ONE_OUT])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_design_has_a_row_with_all_knobs_and_one_without(kind, count):
    plan = design(names(count), kind)
    assert plan.rows[ALL_ROW] == plan.knobs
    assert plan.rows[NO_ROW] == ()
    assert len({*map(frozenset, plan.rows.values())}) == len(plan.rows)


def test_few_knobs_take_all_combinations_and_many_a_folded_design():
    assert (design(names(4), AUTO).kind, len(design(names(4), AUTO).rows)) == (FULL, 16)
    assert (design(names(5), AUTO).kind, len(design(names(10), AUTO).rows)) == (FOLDED, 24)
    assert len(design(names(10), LEAVE_ONE_OUT).rows) == 12


@pytest.mark.parametrize(
    ("knobs", "kind", "code"),
    [
        (names(3), "half", "E-SCREEN-001"),
        ((), AUTO, "E-SCREEN-002"),
        (("k0", "k0"), AUTO, "E-SCREEN-002"),
        (names(9), FULL, "E-SCREEN-002"),
        (names(MOST_KNOBS + 1), AUTO, "E-SCREEN-002"),
    ],
)
def test_an_impossible_design_is_refused(knobs, kind, code):
    with refused(BadInput, code):
        design(knobs, kind)
