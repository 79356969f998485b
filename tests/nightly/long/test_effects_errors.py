"""Error rate of a page of effects, by simulation: the figures of docs/precision.md.

python tests/nightly/long/test_effects_errors.py    # prints the table
"""

import math
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

import null_pages

from netlab.analysis.answers import step_effects

PAGES, ROUNDS = 200, (3, 6)
HEADING = "| rounds | a false *faster* or *slower* | an interval of a step without 1 |"


def row(directory: Path, rounds: int) -> tuple[str, tuple[int, int]]:
    frames = [step_effects(one) for one in null_pages.null_pages(directory, rounds, PAGES)]
    cases = sum(bool(frame[["faster", "slower"]].sum().sum()) for frame in frames)
    steps = sum(bool((frame["low"].gt(1) | frame["high"].lt(1)).any()) for frame in frames)
    return f"| {rounds} | {cases} | {steps} |", (cases, steps)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_at_most_five_pages_in_a_hundred_have_a_false_verdict(rounds, tmp_path):
    line, counts = row(tmp_path, rounds)
    assert max(counts) / PAGES <= 0.05 + 3.1 * math.sqrt(0.05 * 0.95 / PAGES), line
    page = (Path(__file__).parents[3] / "docs" / "precision.md").read_text(encoding="utf-8")
    assert HEADING in page and line in page
