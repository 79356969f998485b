"""Tables of the documents have their printed layout."""

import pytest

from netlab.errors import BadInput
from netlab.openlab import published
from netlab.openlab.published import gigabit_layout, layout


def test_rows_and_columns_are_in_the_printed_order():
    frame = layout.report_table(2).frame
    assert list(frame.index) == [
        ("No Tuning", "1500 B"), ("No Tuning", "9000 B"),
        ("+ Kernel Tuning", "1500 B"), ("+ Kernel Tuning", "9000 B"),
        ("+ Driver Tuning", "1500 B"), ("+ Driver Tuning", "9000 B"),
        ("+ Driver Tuning", "16114 B"),
    ]  # fmt: skip
    assert layout.report_table(1).frame.shape == (7, 3)
    assert list(frame.columns) == ["1 stream", "4 streams", "12 streams", "20 streams"]
    assert list(frame.loc[("+ Driver Tuning", "16114 B")]) == [744, 742, 733, 717]


def test_the_best_cell_is_bold_in_either_unit():
    pages = [layout.report_table(3, *unit)._repr_html_() for unit in ((), ("percent_of_bus",))]
    assert "<strong>774</strong>" in pages[0] and pages[0].count("<strong>") == 1
    assert "<strong>72.7</strong>" in pages[1]


def test_every_cell_has_its_per_cent_of_the_bus():
    tables = [layout.report_table(n, "percent_of_bus").frame for n in range(1, 7)]
    assert sum(frame.notna().sum().sum() for frame in tables) == 161


@pytest.mark.parametrize(
    ("call", "given", "key"),
    [
        *((layout.report_table, (number,), "number") for number in (0, 7, "two")),
        (layout.report_table, (1, "latency"), "value"),
        (layout.preliminary_set, ("extra",), "tuning"),
        (gigabit_layout.pcie_table, (5,), "lanes"),
    ],
)
def test_a_table_that_is_not_there_is_refused(call, given, key):
    with pytest.raises(BadInput, match=key):
        call(*given)


def test_the_best_cells_are_compared_with_the_goal():
    frame = layout.best_cells().frame
    assert list(frame["MB/s"]) == [755, 744, 774, 283, 444, 415]
    assert list(frame["Goal of 80 %"]) == ["missed", "missed", "–", "–", "–", "–"]


def test_the_verdict_on_the_goal_follows_the_data(monkeypatch):
    assert "was not met: the most is 755 MB/s (table 1), 71.0 %" in layout.goal_sentence()
    faster = published.load("openlab-2003")
    faster[["throughput_MBps", "percent_of_bus"]] *= 1.2
    monkeypatch.setattr(published, "load", lambda name: faster)
    assert "was met: the most is 906 MB/s" in layout.goal_sentence()
    assert list(layout.best_cells().frame["Goal of 80 %"][:3]) == ["met", "met", "–"]


def test_a_set_shows_total_and_streams():
    frame = layout.preliminary_set("kernel").frame
    assert frame.loc["16114 B", "4 streams"] == "614 (4 × 179)"
    assert frame.loc["1500 B", "1 stream"] == "203"
    slots = layout.slot_table().frame
    assert list(slots["Bandwidth, MB/s"]) == [532, 1064, 1064]
    assert list(slots["One stream, MB/s"]) == [470, 755, 940]


def test_table_1_is_the_notes_less_fifteen_cells():
    fates = {"the same in table 1": 21, "changed": 0, "left out of table 1": 15}
    assert layout.notes_against_report().frame.sum().to_dict() == fates
