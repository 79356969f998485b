"""Intervals contain the true value as often as they say, also where a study stops early."""

from __future__ import annotations

import re

import coverage_simulation as simulation
import pytest

from netlab.files.paths import root_dir


@pytest.mark.parametrize("noise", simulation.NOISES)
@pytest.mark.parametrize("rounds", [3, 4, 6, 12])
def test_fixed_rounds_cover_as_often_as_they_say(rounds, noise):
    assert 0.93 <= simulation.fixed(rounds, noise) <= 0.97


@pytest.mark.parametrize("noise", simulation.NOISES)
@pytest.mark.parametrize("scatter", simulation.SCATTERS)
def test_adaptive_rounds_cover_as_often_as_they_say(scatter, noise):
    share, _ = simulation.adaptive(scatter, noise)
    assert 0.93 <= share <= 0.975


def test_the_table_of_the_documentation_is_the_simulations():
    page = (root_dir() / "docs" / "precision.md").read_text(encoding="utf-8")
    printed = [line for line in page.splitlines() if re.match(r"\| (\d|rounds \|)", line)]
    made = [
        line for line in simulation.table().splitlines() if re.match(r"\| (\d|rounds \|)", line)
    ]
    assert printed == made
