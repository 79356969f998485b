"""Charts of the published figures."""

import xml.etree.ElementTree as ElementTree

import pytest

from netlab.charts.chart import Chart, show
from netlab.errors import BadInput
from netlab.openlab import published
from netlab.openlab.figures import gigabit as gigabit_charts
from netlab.openlab.figures import printed as printed_charts
from netlab.openlab.figures import wide_area as wide_area_charts


def _texts(drawn):
    chart = drawn if isinstance(drawn, Chart) else show(drawn)
    nodes = ElementTree.fromstring(chart.svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(node.itertext()).strip() for node in nodes]


def test_chapter_4_has_twelve_charts_six_are_missing_and_every_cell_is_in_one():
    frame, shown = (
        published.load("openlab-2003"),
        {*printed_charts.PRINTED_CHARTS, *printed_charts.MISSING_CHARTS},
    )
    assert (len(printed_charts.PRINTED_CHARTS), len(printed_charts.MISSING_CHARTS), len(shown)) == (
        12,
        6,
        18,
    )
    assert set(frame[["table", "tuning"]].itertuples(index=False, name=None)) == shown


def test_a_chart_has_title_units_and_direct_labels():
    texts = _texts(printed_charts.throughput_by_streams(3, "full"))
    assert "Linux64 ↔ Linux64," in texts and "Driver Tuning" in texts
    assert "Throughput, MB/s" in texts and "Streams in each direction" in texts
    labels = [text for text in texts if text.endswith(" B")]
    assert labels == ["1500 B", "9000 B", "16114 B"]


def test_its_alt_text_has_every_value():
    alt = show(printed_charts.throughput_by_streams(2, "none")).alt
    assert "MTU 1500 bytes: 170, 388, 460, 398" in alt
    assert "MTU 9000 bytes: 182, 355, 632, 694" in alt


@pytest.mark.parametrize("table, tuning", [(0, "none"), (7, "none"), (2, "extra")])
def test_a_chart_that_is_not_there_is_refused(table, tuning):
    with pytest.raises(BadInput):
        printed_charts.throughput_by_streams(table, tuning)


def test_the_misprint_is_marked_in_its_set_only():
    gallery = printed_charts.preliminary_by_streams("throughput_MBps").charts
    assert ["misprint" in chart.alt for chart in gallery] == [False, True, False]
    assert "4 × 179" in _texts(gallery[1])


def test_per_stream_rates_show_no_misprint():
    gallery = printed_charts.preliminary_by_streams("per_stream_MBps").charts
    assert not any("misprint" in chart.alt for chart in gallery)
    with pytest.raises(BadInput):
        printed_charts.preliminary_by_streams("latency")


def test_the_goal_is_in_the_overview():
    chart = show(printed_charts.best_percent_of_bus())
    assert "goal, 80 %" in _texts(chart)
    assert "the most reached is 73" in chart.alt
    tunings = [text for text in _texts(chart) if text.endswith("Tuning")]
    assert tunings == ["No Tuning", "Kernel Tuning", "Driver Tuning"]


def test_burst_efficiency_rises():
    assert "0 idle clocks 86 to 98" in show(printed_charts.burst_efficiency()).alt


def test_the_window_chart_shows_the_window_needed():
    chart = show(wide_area_charts.windows_needed_and_given())
    assert "needed, 57 MB" in _texts(chart)
    assert "Tests, 40 MiB 42" in chart.alt


def test_recovery_has_a_chart_for_each_mtu():
    jumbo, standard = (show(wide_area_charts.recovery(mtu_B)) for mtu_B in (9000, 1500))
    assert "Reno 584.9 s, HighSpeed 12.6 s, Scalable 2.5 s" in jumbo.alt
    assert "Reno 3614.6 s" in standard.alt


def test_before_and_after_carry_their_limits():
    alt = show(gigabit_charts.before_and_after()).alt
    assert "390 to 955" in alt and "230 to 895" in alt and "1064" in alt


def test_a_line_of_an_hour_of_round_trips_is_thinned_and_ends_where_it_did():
    ax = wide_area_charts.recovery(1500)
    lines = {line.get_label(): line for line in ax.get_lines()}
    x, y = lines["Reno"].get_data()
    assert len(x) < 400 and x[-1] == pytest.approx(3615, rel=0.01) and max(y) >= 99.9
    assert len(show(ax).svg) < 200_000
