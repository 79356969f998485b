"""Charts of a measured study: content and alt text."""

import math
from itertools import combinations

import pytest
import synthetic
from matplotlib import pyplot as plt

from netlab.analysis.cells import Cells
from netlab.charts import study_charts as charts
from netlab.charts.chart import show
from netlab.charts.looks import HOLLOW_COLOUR
from netlab.errors import BadInput


@pytest.fixture(scope="module")
def study():
    return synthetic.openlab()


@pytest.fixture(scope="module")
def runs(study):
    return synthetic.runs_of(study)


@pytest.fixture(scope="module")
def cells(runs, study):
    return Cells()(runs, study=study)


def test_a_panel_has_a_line_a_mtu_the_bus_and_a_second_reading(cells, study):
    fig = charts.panels(cells, "Linux64 -> Linux64", study=study).figure
    first, _, last = fig.axes
    named = [["bus, 2128 MB/s", "1500 B", "9000 B"], ["1500 B", "9000 B"]]
    named.append(["1500 B", "9000 B", "16114 B"])
    for ax, names in zip(fig.axes, named, strict=True):
        assert [text.get_text() for text in ax.texts] == names
        boxes = [text.get_window_extent() for text in ax.texts if text.get_text().endswith(" B")]
        assert all(not a.overlaps(b) for a, b in combinations(boxes, 2))
        assert all(box.x1 <= ax.get_window_extent().x1 + 1 for box in boxes), "left of the scale"
        assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "4", "12", "20"]
        assert ax.get_ylim() == first.get_ylim() and ax.get_xlabel() == "streams"
    assert first.get_ylabel() == "goodput, MB/s" and not first.child_axes
    assert last.child_axes[0].get_ylabel() == "% of bus" and not fig.legends
    chart = show(fig)
    assert not plt.fignum_exists(fig.number)
    assert all(name in chart.alt for name in ("No Tuning", "Kernel Tuning", "Driver Tuning"))
    assert "16114 B" in chart.alt and "Bus is 2128 MB/s" in chart.alt
    assert "95 % interval" in chart.caption


def test_missing_cells_leave_gaps_and_are_counted(study):
    runs = synthetic.runs_of(study, change=synthetic.only(streams=(1, 4, 20)))
    cells = Cells()(runs, study=study)
    chart = show(charts.panels(cells, "Linux64 -> Linux64", study=study))
    assert "nothing valid with 12" in chart.alt
    missing = cells[(cells["group"] == "Linux64 -> Linux64") & (cells["n_valid"] == 0)]
    assert f"Empty cells: {len(missing)}." in chart.caption and len(missing) > 0


def test_a_group_without_any_valid_run_is_still_drawn(runs, study):
    cells = Cells()(runs.assign(flags="failed"), study=study)
    assert (
        "nothing valid with 1" in show(charts.panels(cells, "Linux64 -> Linux64", study=study)).alt
    )
    noisy = Cells()(runs.assign(flags="interference"), study=study)
    fig = charts.panels(noisy, "Linux64 -> Linux64", study=study).figure
    for ax in fig.axes:
        marks = [line for line in ax.get_lines() if line.get_color() == HOLLOW_COLOUR]
        assert marks and {"1500 B", "9000 B"} <= {text.get_text() for text in ax.texts}
        assert all(max(line.get_ydata()) < ax.get_ylim()[1] for line in marks)
    chart = show(fig)
    assert ", flagged, with 12" in chart.alt and "nothing valid" not in chart.alt
    assert "not a result (interference: 28 cells)" in chart.caption


def test_one_wild_interval_does_not_flatten_the_rest(study):
    def wild(row):
        if row["streams"] == 12 and row["mtu_B"] == 1500:
            row["goodput_MBps"] *= 0.2 if row["round"] == 1 else 1.0

    cells = Cells()(synthetic.runs_of(study, change=wild), study=study)
    narrow = cells.assign(bus_MBps=math.nan)
    wide = narrow.assign(high_MBps=narrow["high_MBps"] * 9)
    fig = charts.panels(wide, "Linux64 -> Linux64", study=study).figure
    top = fig.axes[0].get_ylim()[1]
    assert top < 1.5 * cells["goodput_MBps"].max() and "run off the chart" in show(fig).caption


def test_a_study_without_a_bus_has_no_ceiling_and_wide_counts_a_log_axis(tmp_path):
    foreign = synthetic.foreign(tmp_path)
    cells = Cells()(synthetic.runs_of(foreign), study=foreign)
    (group,) = cells["group"].unique()
    fig = charts.panels(cells, group, study=foreign).figure
    (ax,) = fig.axes
    chart = show(fig)
    assert ax.get_xscale() == "log" and "bus" not in chart.alt
    assert "<b>" not in chart._repr_html_()


def test_an_unknown_group_is_refused(cells):
    with pytest.raises(BadInput, match="no such group"):
        charts.panels(cells, "nobody")


def test_drift_compares_the_halves_of_the_study_and_overhead_has_median_and_largest(runs, study):
    drifting = runs.assign(goodput_MBps=runs["goodput_MBps"] * (1.1 - runs["order"] / 2100))
    alt = show(charts.drift(drifting, study=study)).alt
    assert "first half of the study averages +" in alt and "the second -" in alt
    assert show(charts.drift(runs[runs["round"] == 1])).alt.startswith("Empty chart")
    assert show(charts.drift(runs.head(0))).alt.startswith("Empty chart")
    assert "median 0.200 s" in show(charts.overhead(runs)).alt
    assert show(charts.overhead(runs.head(0))).alt.startswith("Empty chart")


def test_the_caption_says_which_cells_have_no_interval(runs, study):
    def caption(part):
        cells = Cells()(runs[part], study=study)
        return show(charts.panels(cells, "Linux64 -> Linux64", study=study)).caption

    assert caption(runs["round"] <= 2) == "No bars: an interval takes 3 valid rounds."
    some = caption((runs["round"] <= 2) | (runs["streams"] > 1))
    bars = "Bars: 95 % interval over rounds. No bars: an interval takes 3 valid rounds."
    assert some.startswith(bars)
