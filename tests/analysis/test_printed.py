"""Tables have the layout of the report of 2003."""

import math
from pathlib import Path

import pytest
import synthetic

from netlab.analysis import any_factors, cell_texts, printed
from netlab.analysis.cells import Cells
from netlab.analysis.measured import from_frames
from netlab.errors import BadInput


@pytest.fixture(scope="module")
def cells(runs, openlab):
    return Cells()(runs, study=openlab)


def test_a_table_has_the_sections_rows_and_columns_of_the_report(cells, openlab):
    table = printed.as_printed(cells, "Linux64 -> Linux64", study=openlab)
    assert table.columns.tolist() == ["1 Stream", "4 Streams", "12 Streams", "20 Streams"]
    tunings, mtus = ("No Tuning", "Kernel Tuning", "Driver Tuning"), ("1500 B", "9000 B")
    rows = [(tuning, mtu) for tuning in tunings for mtu in mtus]
    assert table.index.tolist() == [*rows, ("Driver Tuning", "16114 B")]
    assert table.map(lambda text: " ± " in text).all(axis=None)


def test_percent_both_and_bottlenecks_are_laid_out_in_the_same_way(cells, runs, openlab):
    share = printed.as_printed(cells, "Linux64 -> Linux64", study=openlab, quantity="percent")
    assert share.iloc[5, 0].startswith("9") and share.iloc[5, 0].endswith(" %")
    both = printed.as_printed(cells, "Linux64 -> Linux64", study=openlab, quantity="both")
    assert "±" in both.iloc[0, 0] and both.iloc[0, 0].endswith(" %)")

    cells = from_frames(openlab, runs, None, Path()).cells
    words = printed.as_printed(cells, "Linux64 -> Linux64", study=openlab, quantity="bottleneck")
    assert words.loc[("No Tuning", "9000 B")].tolist() == ["window", "bus", "bus", "bus"]


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (744.2, 735.9, 752.7, "744 ± 8"),
        (119.51, 119.15, 119.92, "119.5 ± 0.4"),
        (119.51, 119.506, 119.514, "119.51 ± 0.01"),
        # no half width reads as 0, of slow and of steady paths
        (3.5723, 3.5712, 3.5734, "3.572 ± 0.001"),
        (0.48123, 0.47983, 0.48263, "0.481 ± 0.001"),
        (0.005792, 0.00579184, 0.00579216, "0.0057920 ± 0.0000002"),
        (11.95, 11.95 - 1e-5, 11.95 + 1e-5, "11.950 ± 0.001"),
        (11.95, 11.95 - 1e-14, 11.95 + 1e-14, "11.9 ± 0.0"),
        (99.97, 99.46, 100.48, "100 ± 1"),
        (12.34, 12.08, 12.6, "12.3 ± 0.3"),
        (290.0, 110.2, 763.8, "290 (110 to 764)"),
        (0.5, math.nan, math.nan, "0.50"),
        (math.nan, math.nan, math.nan, cell_texts.MISSING),
    ],
)
def test_values_are_rounded_to_their_size(value, low, high, text):
    assert cell_texts.with_interval(value, low, high) == text


def test_a_share_of_the_bus_has_no_half_width_of_0():
    assert cell_texts.percent(95.312, 95.302, 95.322) == "95.31 ± 0.01 %"
    assert cell_texts.percent(95.312, 93.3, 97.3) == "95.3 ± 2.0 %"


def test_a_range_of_one_value_is_that_value():
    ranges = ([15.9, 89.7], [15.91, 15.92], [15.9])
    assert [printed.reach(values) for values in ranges] == ["15.9 to 89.7", "15.9", "15.9"]


def test_a_study_of_another_kind_is_laid_out_too(foreign):
    cells = Cells()(synthetic.runs_of(foreign), study=foreign)
    (group,) = printed.group_names(cells)
    table = printed.as_printed(cells, group, study=foreign)
    assert table.index.tolist() == [("as-found", "1500 B")]
    assert table.columns.tolist() == ["1 Stream", "64 Streams"]
    assert printed.caption(cells, group) == group
    share = printed.as_printed(cells, group, quantity="percent")
    assert (share == cell_texts.MISSING).all(axis=None)


def test_missing_cells_are_dashes_and_listed(openlab):
    runs = synthetic.runs_of(openlab, change=synthetic.only(streams=(1, 4, 12)))
    cells = Cells()(runs, study=openlab)
    table = printed.as_printed(cells, "Linux64 -> Linux32", study=openlab)
    assert (table["20 Streams"] == cell_texts.MISSING).all()
    assert len(printed.missing(cells)) == 35


def test_the_best_cell_is_the_highest_of_its_group_and_groups_follow_their_tables(cells):
    best = printed.best(cells)
    assert best["group"].tolist() == printed.group_names(cells)
    for row in best.itertuples():
        assert row.goodput_MBps == cells[cells.group == row.group]["goodput_MBps"].max()
    shuffled = cells.sample(frac=1, random_state=1)
    assert printed.group_names(shuffled)[0] == "Linux64 -> Linux64"
    assert printed.caption(cells, "Linux32 <-> Linux64") == "Table 6: Linux32 <-> Linux64"
    with pytest.raises(BadInput, match="no such group"):
        printed.as_printed(cells, "nobody")
    with pytest.raises(BadInput, match="quantity"):
        printed.as_printed(cells, "Linux64 -> Linux64", quantity="colour")


def test_a_pacing_level_of_zero_reads_no_pacing():
    levels = [any_factors.level_label("pacing_MBps", level, {}) for level in (0, 0.0, 3.0)]
    assert levels == ["no pacing", "no pacing", "pacing 3 MB/s"]
