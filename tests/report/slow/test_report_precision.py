"""The report says how precise each cell is, and ranks none that is less precise than asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import synthetic

from netlab.analysis.measured import from_frames
from netlab.analysis.trust import less_precise
from netlab.report import tables
from netlab.study import load


@pytest.fixture(scope="module")
def study():
    return load(synthetic.openlab_file(), max_rounds=4)


def measured(study, *, wide: str = "", noise: float = 0.002):
    """Four rounds of every cell; cells of the group `wide` scatter by a third."""
    runs = synthetic.runs_of(study, noise=noise)
    scatter = np.random.default_rng(3).normal(0, 0.3, len(runs))
    at = runs["group"] == wide
    runs.loc[at, "goodput_MBps"] *= np.exp(scatter[at])
    return from_frames(study, runs, None, Path("."))


def test_narrow_cells_are_counted_and_none_is_listed(study):
    shown = tables.precision(measured(study))
    counts = shown.tables[0].frame.set_index("half of the interval")["cells"]
    assert counts["within 5 %"] == counts["within 15 %"] == 140 and counts["wider"] == 0
    assert "Every cell is within 5 %" in repr(shown) and "4 valid runs" in shown._repr_html_()
    assert len(less_precise(measured(study))) == 0


def test_wide_cells_are_listed_with_the_rounds_they_would_take(study):
    m = measured(study, wide="Linux64 -> Linux64")
    shown = tables.precision(m)
    listed = shown.tables[1].frame
    assert set(listed["group"]) == {"Linux64 -> Linux64"} and len(listed) == len(less_precise(m))
    assert (listed["rounds_needed"] > 4).all() and (listed["half_width_percent"] > 5).all()
    assert "rounds for 5 %" in shown._repr_html_()


def test_a_cell_less_precise_than_asked_is_not_ranked(study):
    m = measured(study, wide="Linux64 <-> Linux64")
    best = tables.groups(m).frame.set_index("group")["best cell"]
    of_wide = best[[name for name in best.index if "Linux64 <-> Linux64" in name]]
    precise = m.cells[m.cells["group"] == "Linux64 <-> Linux64"]["half_width_percent"] <= 5
    assert not precise.any() and (of_wide == "–").all()
    assert (best.drop(of_wide.index) != "–").all()


def test_a_report_of_two_rounds_does_not_speak_of_intervals():
    m = synthetic.measured(load(synthetic.openlab_file(), rounds=2))
    (counts,) = tables.precision(m).tables
    assert len(less_precise(m)) == 0, "rounds are fixed"
    assert counts.note.startswith("140 cells; an interval takes 3 valid rounds.")
    table = tables.of_group(m, "Linux64 -> Linux64")
    assert table.note == "No ±: an interval takes 3 valid rounds."
    assert "±" not in table.frame.to_string()
