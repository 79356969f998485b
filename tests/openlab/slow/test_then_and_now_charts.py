"""Charts of then and now: two sides on one scale, ratios with the band and the verdict."""

import math

import pandas as pd
import pytest
import synthetic
from charts.words import other_words

from netlab.charts import forest
from netlab.charts.chart import describe
from netlab.openlab import then_and_now as tn
from netlab.openlab.figures import beside as beside_charts


@pytest.fixture(scope="module")
def measured():
    """One path of the openlab study, at two stream counts."""
    change = synthetic.only(path=("64-64",), streams=(1, 20))
    return synthetic.measured(change=change)


@pytest.fixture(scope="module")
def cells(measured):
    return tn.comparable(measured)


@pytest.fixture(scope="module")
def compared(measured):
    return tn.compare(measured)


@pytest.fixture
def drawn(monkeypatch):
    figures = []

    def keep(drawn, alt, caption=""):
        figures.append(drawn.figure)
        return describe(drawn, alt, caption)

    for module in (beside_charts, forest):
        monkeypatch.setattr(module, "describe", keep)
    return figures


def lines_of(ax):
    return {bars.get_label(): bars.lines[0] for bars in ax.containers}


def test_each_group_and_tuning_shows_both_studies_on_one_scale(cells, drawn):
    gallery = beside_charts.beside(cells)
    assert len(gallery.charts) == 2 * 3
    for fig in drawn:
        then, now = fig.axes
        assert (then.get_title("left"), now.get_title("left")) == ("2003", "measured")
        assert then.get_ylim() == now.get_ylim()
        assert set(lines_of(then)) == set(lines_of(now))
        for name, line in lines_of(then).items():
            assert line.get_color() == lines_of(now)[name].get_color()
    assert {fig.axes[0].get_ylim() for fig in drawn[:3]} == {drawn[0].axes[0].get_ylim()}


def test_both_sides_are_in_per_cent_of_their_own_ceiling(cells, drawn):
    chart = beside_charts.beside(cells[(cells["table"] == 2) & (cells["tuning"] == "full")]).charts[
        0
    ]
    then, now = drawn[0].axes
    assert lines_of(then)["16114 B"].get_ydata()[0] == pytest.approx(100 * 744 / 1064)
    row = cells.query("table == 2 and tuning == 'full' and mtu_B == 16114 and streams == 1")
    expected = 100 * row["now_MBps"].iloc[0] / 2128
    assert lines_of(now)["16114 B"].get_ydata()[0] == pytest.approx(expected)
    assert "1064 MB/s in 2003, 2128 MB/s measured" in chart.alt
    assert "2003, 16114 B: 70 with 1, 67 with 20" in chart.alt


def test_an_interval_far_wider_than_the_means_does_not_flatten_the_lines(cells, drawn):
    part = cells[cells["table"] == 2].assign(now_percent_low=0.0, now_percent_high=5000.0)
    beside_charts.beside(part)
    assert all(fig.axes[0].get_ylim()[1] < 200 for fig in drawn)


def test_a_group_without_a_ceiling_has_no_chart(cells):
    unknown = cells.assign(now_percent=cells["now_percent"].where(cells["table"] != 3))
    assert len(beside_charts.beside(unknown).charts) == 3
    assert beside_charts.beside(cells.head(0)).charts == ()


def test_a_step_has_a_row_a_group_with_both_ratios_and_the_verdict(compared, drawn):
    gallery = beside_charts.ratios(compared, "jumbo frames")
    assert len(gallery.charts) == len(drawn) == 4
    rows = compared[compared["factor"] == "jumbo frames"].head(2)
    ax = drawn[0].axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["Table 2", "Table 3"]
    verdicts = [t.get_text() for t in ax.child_axes[0].get_yticklabels()]
    assert verdicts == rows["verdict"].tolist()
    then, now = (container.lines[0].get_xdata().tolist() for container in ax.containers)
    assert (then, now) == (rows["then_ratio"].tolist(), rows["now_ratio"].tolist())
    assert len({fig.axes[0].get_xlim() for fig in drawn}) == 1
    assert f"2003: ×{rows.iloc[0].then_ratio:.2f}" in gallery.charts[0].alt


def test_figures_use_the_words_of_the_guide(cells, compared):
    galleries = [beside_charts.ratios(compared, factor) for factor in ("tuning", "direction")]
    charts = [chart for one in (beside_charts.beside(cells), *galleries) for chart in one.charts]
    assert len(charts) > 6
    for chart in charts:
        assert other_words(chart) == []


def test_directions_have_a_row_a_tuning(compared, drawn):
    (chart,) = beside_charts.ratios(compared, "direction").charts
    names = [t.get_text() for t in drawn[0].axes[0].get_yticklabels()]
    assert names == ["No Tuning", "Kernel Tuning", "Driver Tuning"]
    assert "Linux64 → Linux64 to both directions" in chart.alt


def test_a_ratio_without_an_interval_is_described_so_and_an_empty_comparison_has_no_chart(compared):
    bare = compared.assign(now_low=math.nan, now_high=math.nan, verdict="cannot tell")
    chart = beside_charts.ratios(bare, "tuning").charts[0]
    assert "(no interval), cannot tell" in chart.alt
    empty = pd.DataFrame(columns=list(tn.COMPARED_COLUMNS))
    assert beside_charts.ratios(empty, "tuning").charts == ()
