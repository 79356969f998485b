"""The table of a study: its note counts runs, blocks and time."""

from __future__ import annotations

import pytest
from lab_study import lab_study

from netlab.face.design_table import design_table


def note_of(streams: list[int], seconds: float, rounds: int = 1) -> str:
    study = lab_study()
    timing = study.timing.model_copy(
        update={"rounds": rounds, "seconds": seconds, "warmup_s": 0.1, "drain_s": 1.0}
    )
    return design_table(study.model_copy(update={"streams": tuple(streams), "timing": timing})).note


def test_one_run_in_one_block_is_in_the_singular():
    assert "1 round of 1 run in 1 block, each 0.3 s after 0.1 s of warm-up" in note_of([1], 0.3)
    assert "2 rounds of 3 runs in 1 block" in note_of([1, 2, 4], 0.3, rounds=2)


@pytest.mark.parametrize(
    ("streams", "seconds", "text"),
    [([1], 0.3, "0.4 s"), ([1, 2], 10.0, "20 s"), ([1, 2], 60.0, "2 min")],
)
def test_short_times_are_in_seconds(streams, seconds, text):
    assert f"warm-up: {text} of measuring a round." in note_of(streams, seconds)
