"""Each measured cell has the lowest ceiling of its runs, and where that is from."""

from __future__ import annotations

import pandas as pd
import pytest

from netlab.analysis.ceilings import CEILING_COLUMNS, ceilings, ceilings_table
from netlab.analysis.cells import CELL_KEYS, Cells


@pytest.fixture
def cells(runs, openlab):
    return Cells()(runs, study=openlab)


def test_a_cell_has_the_ceiling_of_its_runs(runs, cells):
    found = ceilings(runs, cells)
    assert tuple(found) == CEILING_COLUMNS
    assert set(found["ceiling_kind"]) == {"bus"}
    assert set(found["ceiling_source"]) == {"PCI-X, as the study states"}
    share = 100 * found["goodput_MBps"] / found["ceiling_MBps"]
    assert found["percent_of_ceiling"].to_numpy() == pytest.approx(share.to_numpy())
    measured = cells.dropna(subset=["goodput_MBps"])
    assert len(found) == len(measured) == len(found.groupby(list(CELL_KEYS)))


def test_a_flagged_run_sets_no_ceiling(runs, cells):
    odd = runs.index[:1]
    runs = runs.copy()
    runs.loc[odd, "flags"], runs.loc[odd, "ceiling_MBps"] = "implausible", 1.0
    assert ceilings(runs, cells)["ceiling_MBps"].min() > 1.0


def test_groups_with_different_limits_have_a_row_each(runs, cells):
    linux32 = runs["group"] == "Linux64 -> Linux32"
    slower = runs.assign(
        ceiling_kind=runs["ceiling_kind"].mask(linux32, "link"),
        ceiling_source=runs["ceiling_source"].mask(linux32, "a link of 125 MB/s"),
    )
    table = ceilings_table(slower, cells)
    frame = table.frame.set_index("group")
    assert frame.loc["Linux64 → Linux32", "source"] == "a link of 125 MB/s"
    assert frame.loc["Linux64 → Linux64", "kind"] == "bus"
    assert (frame["low"] <= frame["high"]).all() and (frame["best"] > 0).all()


def test_without_a_known_ceiling_there_is_no_table(runs, cells):
    unknown = runs.assign(ceiling_MBps=pd.Series(float("nan"), index=runs.index))
    assert ceilings_table(unknown, cells) is None
