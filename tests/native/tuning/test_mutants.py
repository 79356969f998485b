"""The mutants of tests/native/tuning/mutants.py still fit the sources."""

from __future__ import annotations

import pytest

from .mutants import MUTANTS


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_changes_one_place(name):
    mutant = MUTANTS[name]
    assert mutant.source().read_text().count(mutant.text) == 1
    assert mutant.text != mutant.replacement
