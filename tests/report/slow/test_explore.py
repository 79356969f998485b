"""An explorer of results: choosers, a view for each choice, all of it readable without a script."""

from __future__ import annotations

import re

import pytest
import synthetic

from netlab.analysis.measured import from_frames
from netlab.errors import BadInput
from netlab.report import explore as module
from netlab.report.explore import explore


@pytest.fixture(scope="module")
def m():
    def change(row):
        if row["order"] % 50 == 0:
            row |= {"flags": "interference", "message": "a <b> & more"}

    return synthetic.measured(change=change)


@pytest.fixture(scope="module")
def explorer(m):
    return explore(m, at={"group": "Linux64 -> Linux64"})


def test_a_view_has_the_runs_cells_and_chart_of_its_levels(m, explorer):
    assert explorer.choices == {
        "tuning": {"none": "No Tuning", "kernel": "Kernel Tuning", "full": "Driver Tuning"}
    }
    view = explorer.views[2]
    assert view.title == "Linux64 → Linux64, Driver Tuning"
    runs = m.runs.query("group == 'Linux64 -> Linux64' and tuning == 'full'")
    assert sorted(view.runs["run_id"]) == sorted(runs["run_id"])
    assert view.table.frame.shape == (3, 4) and "MTU 16114 B" in view.chart.alt


def test_all_views_are_in_the_document_and_one_is_open(m, explorer):
    text = explorer._repr_html_()
    assert text == explore(m, at={"group": "Linux64 -> Linux64"})._repr_html_()
    assert repr(explorer).startswith("openlab-2003")
    assert "Linux64 → Linux64, Kernel Tuning: MTU, B by streams" in repr(explorer)
    assert len(re.findall(r'<details class="view f0-\d"', text)) == 3
    assert text.count('f0-0" open') == 1 and len(re.findall(r'f0-\d" open', text)) == 1
    assert text.count('<img role="img"') == 3
    assert '<div class="choices" hidden="hidden"' in text, "without a script they are not shown"
    assert "a &lt;b&gt; &amp; more" in text and "a <b>" not in text
    assert len(text) < 250_000


def test_a_view_of_disturbed_runs_is_drawn_and_one_where_none_ended_says_so_in_words():
    study = synthetic.openlab()

    def change(row):
        if row["tuning"] == "full":
            row["goodput_MBps"] = None
        elif row["tuning"] == "kernel":
            row |= {"flags": "interference"}

    m = synthetic.measured(study, change=change)
    found = explore(m, at={"group": "Linux64 -> Linux64"})
    fine, flagged, without = found.views
    assert fine.chart is not None and fine.empty_because == ""
    assert flagged.empty_because == "" and "Hollow and grey" in flagged.chart.caption
    assert r"$\circ$ " in flagged.table.to_latex()
    assert "(interference: 8 cells)" in flagged.table.note
    assert without.chart is None
    said = "No cell here has a value: none of 36 runs ended (no goodput 36). They stand below."
    assert without.empty_because == said
    for text in (found._repr_html_(), repr(found)):
        assert text.count(said) == 1
    assert len(re.findall(r'<img role="img"', found._repr_html_())) == 2


@pytest.mark.parametrize("count", [0, 1, 30])
def test_views_that_an_interrupted_study_did_not_reach_say_so(m, count):
    begun = m.runs.sort_values("order").head(count)
    found = explore(from_frames(m.study, begun, None, None))
    reached = [view for view in found.views if len(view.runs)]
    assert sum(len(view.runs) for view in reached) == count
    assert len(found.views) > len(reached)
    for view in found.views:
        assert (view.empty_because == module.NO_RUN) == (view not in reached)
        assert list(view.runs) == list(m.runs)


def test_any_factor_can_be_the_axis_and_a_combination_outside_the_design_says_so(m):
    found = explore(m, "mtu_B", "tuning", {"group": "Linux64 <-> Linux64"})
    assert list(found.choices["streams"].values()) == ["1", "4", "12", "20"]
    table = found.views[0].table
    assert table.frame.index.tolist() == ["No Tuning", "Kernel Tuning", "Driver Tuning"]
    assert "per cent of twice the bus" in table.caption
    assert "Both directions together, of twice the bus." in table.note
    found = explore(m, "streams", "tuning", {"group": "Linux64 -> Linux64"})
    assert list(found.choices["mtu_B"].values()) == ["1500 B", "9000 B", "16114 B"]
    cut = explore(m, "streams", "group")
    assert [view.chart is None for view in cut.views].count(True) == 2
    assert cut._repr_html_().count(module.NOT_MEASURED) == 2


def test_of_many_views_some_have_no_chart_and_all_have_their_runs(m, monkeypatch):
    monkeypatch.setattr(module, "MOST_CHARTS", 2)
    found = explore(m)
    assert [view.chart is not None for view in found.views] == [True] * 2 + [False] * 13
    assert all(view.table is not None and len(view.runs) for view in found.views)
    assert found._repr_html_().count(module.NOT_DRAWN) == 13


def test_an_unknown_level_is_refused(m):
    with pytest.raises(BadInput, match="no cell has this level"):
        explore(m, at={"tuning": "best"})


def test_a_study_of_one_cell_has_one_view(tmp_path):
    study = synthetic.foreign(tmp_path)
    m = synthetic.measured(study)
    found = explore(m)
    assert len(found.views) == 1 and not found.choices
    assert "<fieldset" not in found._repr_html_()
