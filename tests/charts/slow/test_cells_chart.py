"""Charts of cells, runs and effects: what was measured, and the same in words."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import synthetic
from lab_study import lab_study

from netlab.analysis import printed
from netlab.analysis.answers import best, step_effects
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.cost_of_cpu import cpu_cost
from netlab.analysis.measured import from_frames
from netlab.charts import cell_rows, comparisons, group_panels, study_charts
from netlab.charts.cells import over_streams
from netlab.charts.chart import show
from netlab.charts.drawn_numbers import data_of
from netlab.charts.looks import HOLLOW_COLOUR, theme
from netlab.charts.over_factor import over_factor
from netlab.report import explore, tables
from netlab.study import TuningLevel

GROUP = "Linux64 -> Linux64"


@pytest.fixture(scope="module")
def m(tmp_path_factory):
    study = synthetic.openlab()
    runs = synthetic.runs_of(study, change=synthetic.only(path=("64-64",)))
    return from_frames(study, runs, None, tmp_path_factory.mktemp("none"))


@pytest.fixture
def ax():
    return plt.subplots()[1]


def lines(ax):
    """The lines that have a name, by it."""
    return {bars.get_label(): bars.lines[0] for bars in ax.containers}


def test_it_draws_a_line_a_tuning_and_mtu_with_the_cells_values(m, ax):
    over_streams(m.cells, GROUP, study=m.study, ax=ax)
    drawn = lines(ax)
    assert len(drawn) == 7 and "Driver Tuning, 16114 B" in drawn
    cells = m.cells.query("group == @GROUP and tuning == 'none' and mtu_B == 1500")
    line = drawn["No Tuning, 1500 B"]
    assert line.get_xdata().tolist() == [1, 4, 12, 20]
    assert np.allclose(line.get_ydata(), cells.sort_values("streams")["goodput_MBps"])


def test_a_single_run_has_a_stroke_without_caps_that_the_caption_names(ax):
    study = synthetic.openlab()
    runs = synthetic.runs_of(study, change=synthetic.only(path=("64-64",), round=(1,)))
    one = from_frames(study, runs, synthetic.intervals_of(runs, study), None)
    over_streams(one.cells, GROUP, study=study, ax=ax)
    strokes = [c for c in ax.collections if c.get_label() == "_within a run"]
    ends = np.array([segment[:, 1] for c in strokes for segment in c.get_segments()])
    part = one.cells[(one.cells["group"] == GROUP) & (one.cells["n_valid"] == 1)]
    assert sorted(ends[:, 1]) == pytest.approx(sorted(part["within_high_MBps"]))
    assert "low" not in data_of(ax.figure)  # no interval over rounds
    said = show(study_charts.panels(one.cells, GROUP, study=study)).caption
    assert "Broad strokes: within the only valid run of a cell, not over rounds." in said
    assert "Bars:" not in said and "No bars: an interval takes 3 valid rounds." in said
    assert "±" not in best(one)


def test_an_mtu_has_one_colour_and_a_tuning_one_dash(m, ax):
    over_streams(m.cells, GROUP, study=m.study, ax=ax)
    drawn = lines(ax)
    colours = {name.split(", ")[1]: line.get_color() for name, line in drawn.items()}
    assert all(line.get_color() == colours[n.split(", ")[1]] for n, line in drawn.items())
    assert len(set(colours.values())) == 3
    dashes = {name.split(", ")[0]: line._unscaled_dash_pattern for name, line in drawn.items()}
    assert len(set(map(str, dashes.values()))) == 3


def test_every_line_is_named_at_its_end_and_the_bus_is_drawn(m, ax):
    over_streams(m.cells, GROUP, tuning="full", y="percent_of_bus", study=m.study, ax=ax)
    assert {text.get_text() for text in ax.texts} == {*lines(ax), "bus, 2128 MB/s"}
    assert [100.0, 100.0] in [list(line.get_ydata()) for line in ax.get_lines()]
    assert ax.get_title() == "Linux64 → Linux64: Driver Tuning" and ax.get_ylim()[0] == 0


def test_a_group_with_one_stream_count_far_above_is_drawn(tmp_path, ax):
    study = synthetic.foreign(tmp_path)
    m = synthetic.measured(study)
    over_streams(m.cells, m.groups[0], study=study, ax=ax)
    assert ax.get_xscale() == "log" and len(lines(ax)) == 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda cells, **drawn: over_streams(cells, cells["group"].iloc[0], **drawn),
        lambda cells, **drawn: over_factor(cells, "streams", **drawn),
    ],
)
def test_a_chart_in_per_cent_of_an_unknown_bus_says_so_in_place_of_lines(tmp_path, ax, draw):
    study = synthetic.foreign(tmp_path)
    cells = synthetic.measured(study).cells
    draw(cells[cells["group"] == cells["group"].iloc[0]], y="percent_of_bus", study=study, ax=ax)
    (text,) = [text.get_text() for text in ax.texts]
    assert text.replace("\n", " ") == printed.UNKNOWN_BUS == show(ax).caption


def test_tables_in_per_cent_of_an_unknown_bus_say_so(tmp_path):
    m = synthetic.measured(synthetic.foreign(tmp_path))
    percent, both = (tables.of_group(m, m.groups[0], name) for name in ("percent", "both"))
    assert percent.note.startswith(printed.UNKNOWN_BUS) and printed.UNKNOWN_BUS not in both.note
    assert both.caption.endswith(", MB/s") and percent.caption.endswith(", per cent of bus")
    two = explore.of_two(m, "streams", "mtu_B", {"group": m.groups[0]}, "percent")
    assert printed.UNKNOWN_BUS in two.note


def test_before_a_run_of_a_group_has_ended_its_bus_is_not_called_unknown(tmp_path):
    study = synthetic.foreign(tmp_path)
    none = synthetic.setting({"goodput_MBps": math.nan, "flags": "failed"})
    m = synthetic.measured(study, change=none)
    assert printed.UNKNOWN_BUS not in tables.of_group(m, m.groups[0], "percent").note


def test_disturbed_cells_are_hollow_grey_marks_that_no_line_joins(tmp_path, ax):
    study = synthetic.openlab()

    def change(row):
        if row["path"] != "64-64":
            return False
        if row["streams"] == 12 and row["mtu_B"] == 1500:
            row |= {"flags": "interference", "goodput_MBps": 111.0 + row["round"]}
        return True

    m = synthetic.measured(study, change=change)
    for y, value in (("goodput_MBps", 113.0), ("percent_of_bus", 100 * 113.0 / 2128.0)):
        ax.clear()
        over_streams(m.cells, GROUP, tuning="none", y=y, study=study, ax=ax)
        joined = lines(ax)["No Tuning, 1500 B"]
        assert joined.get_xdata().tolist() == [1, 4, 20]
        (marks,) = [line for line in ax.get_lines() if line.get_label() == "_hollow"]
        assert marks.get_xdata().tolist() == [12] and np.allclose(marks.get_ydata(), value)
        assert marks.get_markerfacecolor() == "none" and marks.get_linestyle() == "None"
        assert marks.get_markeredgecolor() == HOLLOW_COLOUR != joined.get_color()
        assert marks.get_marker() == joined.get_marker()
    drawn = data_of(ax.figure)
    assert drawn.loc[drawn["series"] == "No Tuning, 1500 B, flagged", "x"].tolist() == [12]
    said = "Hollow and grey: median of flagged runs, not a result (interference: 3 cells)."
    assert said in show(ax).caption


PLAIN = {"name": "plain", "label": "Plain", "mtus_B": [1500], "knobs": []}
STUDY = lab_study().model_copy(update={"tunings": (TuningLevel.model_validate(PLAIN),)})


def runs(sends=("copy", "zerocopy"), streams=(1, 4), rounds=3) -> pd.DataFrame:
    """100 MB/s a stream, 10 more with each round; the last run is flagged."""
    made = [
        {
            **{"group": "left -> right", "tuning": "plain", "mtu_B": 1500, "streams": count},
            **{"factors": f'{{"send":"{send}"}}', "goodput_MBps": 100.0 * count + 10 * number},
            **{"run_id": f"{send}-{count}-{number}", "flags": "", "status": "ok"},
        }
        for send in sends
        for count in streams
        for number in range(rounds)
    ]
    made[-1]["flags"] = "stalled"
    return pd.DataFrame(made)


def test_cells_are_named_by_the_levels_that_vary():
    labels = cell_rows.row_labels(runs(), STUDY)
    assert list(labels.values()) == [
        *("1 Stream, send copy", "4 Streams, send copy"),
        *("1 Stream, send zerocopy", "4 Streams, send zerocopy"),
    ]
    alone = cell_rows.row_labels(runs(streams=(4,)), STUDY)
    assert list(alone.values()) == ["send copy", "send zerocopy"]


def test_a_single_cell_has_its_whole_name():
    (label,) = cell_rows.row_labels(runs(("copy",), (4,)), STUDY).values()
    assert label == "Plain, 1500 B, 4 Streams, send copy"


def test_every_repeat_is_a_dot_and_a_flagged_one_a_cross():
    frame = runs()
    ax = cell_rows.repeats(frame, cell_rows.row_labels(frame, STUDY))
    dots = {line.get_label(): len(line.get_xdata()) for line in ax.get_lines()
            if not line.get_label().startswith("_")}  # fmt: skip
    assert dots == {
        **{"1 Stream, send copy": 3, "4 Streams, send copy": 3},
        **{"1 Stream, send zerocopy": 3, "4 Streams, send zerocopy": 2},
    }
    (cross,) = [line for line in ax.get_lines() if line.get_label() == "_flagged"]
    assert list(cross.get_xdata()) == [420.0]
    assert ax.get_xlim()[0] == 0 and ax.get_xlim()[1] > frame["goodput_MBps"].max()
    assert [text.get_text() for text in ax.get_yticklabels()] == list(dots)
    assert ax.get_title(loc="left") == "left → right"
    assert len(data_of(ax.figure)) == 11


def test_an_unsteady_run_leads_from_its_burst_to_what_it_sustained():
    frame = runs(("copy",), (1,)).assign(burst_MBps=np.nan, sustained_MBps=np.nan)
    frame.loc[frame.index[0], ["flags", "burst_MBps", "sustained_MBps"]] = [
        "unsteady",
        1500.0,
        100.0,
    ]
    ax = cell_rows.repeats(frame, cell_rows.row_labels(frame, STUDY))
    (after,) = [line for line in ax.get_lines() if line.get_label() == "_sustained"]
    assert list(after.get_xdata()) == [100.0] and after.get_marker() == "v"
    shown = show(ax)
    assert "unsteady: 1, a burst, then 100" in shown.alt and "Dotted" in str(shown.caption)


def test_a_cell_without_a_valid_run_says_so():
    frame = runs(("copy",), (1,), rounds=1)
    ax = cell_rows.repeats(frame, cell_rows.row_labels(frame, STUDY))
    assert "no valid run" in show(ax).alt


def test_cost_has_a_bar_from_the_least_to_the_greatest_round():
    frame = runs(rounds=1)[list(CELL_KEYS)].assign(cpu_s_per_GB=0.5, low=0.25, high=1.0, n=3)
    ax = cell_rows.cost(frame, cell_rows.row_labels(frame, STUDY))
    bars = [list(line.get_xdata()) for line in ax.get_lines() if line.get_label() == "_bar"]
    assert bars == [[0.25, 1.0]] * 4
    assert "1 Stream, send copy: 0.5" in show(ax).alt


def test_many_cells_stand_in_several_charts():
    frame = runs(streams=tuple(range(1, 51)), rounds=2)
    parts = list(cell_rows.in_parts(frame))
    assert [len(part) for part in parts] == [80, 80, 40]
    whole = pd.concat(parts, ignore_index=True)
    assert list(whole["run_id"]) == list(frame["run_id"])


@pytest.fixture(scope="module")
def spoilt():
    def change(row):
        if row["order"] % 40 == 0:
            row |= {"flags": "stalled"}
        return row["streams"] != 20 or row["tuning"] != "none"

    return synthetic.measured(change=change)


def test_the_heat_map_has_every_cell_on_a_scale_from_0_to_100(spoilt):
    ax = group_panels.ceiling(spoilt.cells, GROUP, study=spoilt.study)
    (mesh,) = ax.collections
    values = np.ma.filled(mesh.get_array().astype(float), np.nan).reshape(7, 4)
    part = spoilt.cells[spoilt.cells["group"] == GROUP].set_index(["tuning", "mtu_B", "streams"])
    assert values[6, 1] == pytest.approx(part.loc[("full", 16114, 4), "percent_of_bus"])
    assert np.isnan(values[0, 3]) and mesh.get_clim() == (0, 100)
    assert ax.get_yticklabels()[0].get_text() == "No Tuning, 1500 B"
    assert "per cent of the bus by" in (alt := show(ax).alt) and "no value with 20" in alt
    both = show(group_panels.ceiling(spoilt.cells, "Linux64 <-> Linux64", study=spoilt.study))
    assert "per cent of twice the bus" in both.alt


def test_the_heat_map_has_a_grey_number_after_a_ring_for_a_disturbed_cell(spoilt):
    runs = spoilt.runs
    runs = runs.assign(flags=runs["flags"].mask(runs["streams"] == 4, "interference"))
    ax = group_panels.ceiling(
        from_frames(spoilt.study, runs, None, None).cells, GROUP, study=spoilt.study
    )
    (mesh,) = ax.collections
    values = np.ma.filled(mesh.get_array().astype(float), np.nan).reshape(7, 4)
    assert np.isnan(values[:, 1]).all()
    rings = [text for text in ax.texts if text.get_text().startswith("○ ")]
    assert len(rings) == 7 and {text.get_color() for text in rings} == {HOLLOW_COLOUR}
    chart = show(ax)
    assert ", flagged, with 4" in chart.alt and "(interference: 7 cells)" in chart.caption


def test_the_forest_has_a_dot_and_an_interval_for_every_step(spoilt):
    steps = step_effects(spoilt)
    ax = comparisons.step_forest(steps, {"none": "No Tuning"}, tables.FACTOR_NAME)
    data = data_of(ax.figure)
    assert data["x"].tolist() == pytest.approx(steps["ratio"].tolist())
    assert data["low"].tolist() == pytest.approx(steps["low"].tolist(), nan_ok=True)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert "direction: → to ↔" in labels and len(labels) == len(steps)


def test_every_run_is_a_dot_and_a_flagged_one_a_cross(spoilt):
    fig = group_panels.repeat_panels(spoilt.runs, GROUP, study=spoilt.study).figure
    part = spoilt.runs[spoilt.runs["group"] == GROUP]
    drawn = [line for ax in fig.axes for line in ax.get_lines() if line.get_linestyle() == "None"]
    assert sum(len(line.get_xdata()) for line in drawn) == len(part)
    crosses = [line for line in drawn if line.get_marker() == "x"]
    assert sum(len(line.get_xdata()) for line in crosses) == (part["flags"] != "").sum() > 0


def test_cost_has_a_line_for_each_tuning_and_mtu(spoilt):
    frame = cpu_cost(spoilt.runs, spoilt.study)
    ax = group_panels.cost_over_streams(frame, GROUP, study=spoilt.study)
    assert len(ax.containers) == 7
    assert show(ax).alt.count("with 1,") == 7


def test_a_trend_marks_its_steps():
    columns = ("campaign", "level", "ratio", "step")
    rows = [("20260101T000000Z", 1.0, np.nan, False), ("20260102T000000Z", 0.9, 0.9, True)]
    ax = study_charts.trend(pd.DataFrame(rows, columns=columns))
    assert [text.get_text() for text in ax.texts] == ["×0.90"]
    assert "20260102T000000Z: 0.900 (a step)" in show(ax).alt


def test_a_chart_is_drawn_once_a_file_and_laid_out_as_matplotlib_alone_does(m, tmp_path):
    """One draw of each artist in `show`, one in each file; the same pixels and layout."""
    drawn, ax = [], study_charts.panels(m.cells, GROUP, study=m.study).axes.flat[0]
    line = ax.get_lines()[0]
    line.draw = lambda renderer: drawn.append(renderer)
    chart = show(ax.figure, "Goodput")
    assert len(drawn) == 1
    del line.draw
    chart.save(tmp_path / "ours.png")
    with theme():
        ax.figure.savefig(tmp_path / "theirs.png", dpi=150)
        map_of, (wide, field) = plt.subplots(1, 2)
        map_of.colorbar(field.imshow([[1, 2], [3, 4]]), ax=field)
        wide.set_aspect("equal")
        other = show(map_of, "Field")
        other.save(tmp_path / "our-field.png")
        map_of.savefig(tmp_path / "their-field.png", dpi=150)
    for ours, theirs in (("ours", "theirs"), ("our-field", "their-field")):
        pictures = [plt.imread(tmp_path / f"{name}.png") for name in (ours, theirs)]
        assert np.array_equal(*pictures), ours
