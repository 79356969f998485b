"""Studies of any factors: one row a cell, named by the levels that vary."""

from __future__ import annotations

import pandas as pd

from netlab.analysis.cells import CELL_KEYS
from netlab.charts import rows
from netlab.charts.chart import show
from netlab.charts.figure_data import data_of
from netlab.study import Study

HOST = {"kind": "lab"}
STUDY = Study.model_validate(
    {
        "netlab": 1,
        "name": "crossed",
        "title": "Crossed",
        "hosts": {"left": HOST, "right": HOST},
        "paths": {"cable": {"ends": [{"host": "left"}, {"host": "right"}], "link": {}}},
        "groups": [{"name": "left -> right", "path": "cable", "sender": "left"}],
        "tunings": [{"name": "plain", "label": "Plain", "mtus_B": [1500], "knobs": []}],
        "streams": [1, 4],
        "factors": {"send": ["copy", "zerocopy"]},
    }
)


def runs(sends=("copy", "zerocopy"), streams=(1, 4), rounds=3) -> pd.DataFrame:
    """100 MB/s a stream, 10 more with each round; the last run is flagged."""
    made = [
        {
            **dict.fromkeys(("group",), "left -> right"),
            **{"tuning": "plain", "mtu_B": 1500, "streams": count},
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
    labels = rows.row_labels(runs(), STUDY)
    assert list(labels.values()) == [
        *("1 Stream, send copy", "4 Streams, send copy"),
        *("1 Stream, send zerocopy", "4 Streams, send zerocopy"),
    ]
    assert list(rows.row_labels(runs(streams=(4,)), STUDY).values()) == [
        "send copy",
        "send zerocopy",
    ]


def test_a_single_cell_has_its_whole_name():
    (label,) = rows.row_labels(runs(("copy",), (4,)), STUDY).values()
    assert label == "Plain, 1500 B, 4 Streams, send copy"


def test_every_repeat_is_a_dot_and_a_flagged_one_a_cross():
    frame = runs()
    ax = rows.repeats(frame, rows.row_labels(frame, STUDY))
    dots = {line.get_label(): len(line.get_xdata()) for line in ax.get_lines()
            if not line.get_label().startswith("_")}  # fmt: skip
    assert dots == {
        **{"1 Stream, send copy": 3, "4 Streams, send copy": 3},
        **{"1 Stream, send zerocopy": 3, "4 Streams, send zerocopy": 2},
    }
    (cross,) = [line for line in ax.get_lines() if line.get_label() == "_flagged"]
    assert list(cross.get_xdata()) == [420.0]
    assert [text.get_text() for text in ax.get_yticklabels()] == list(dots)
    assert ax.get_title(loc="left") == "left → right"
    assert len(data_of(ax.figure)) == 11


def test_a_cell_without_a_valid_run_says_so():
    frame = runs(("copy",), (1,), rounds=1)
    ax = rows.repeats(frame, rows.row_labels(frame, STUDY))
    assert "no valid run" in show(ax).alt


def test_cost_has_a_bar_from_the_least_to_the_greatest_round():
    frame = runs(rounds=1)[list(CELL_KEYS)].assign(cpu_s_per_GB=0.5, low=0.25, high=1.0, n=3)
    ax = rows.cost(frame, rows.row_labels(frame, STUDY))
    bars = [list(line.get_xdata()) for line in ax.get_lines() if line.get_label() == "_bar"]
    assert bars == [[0.25, 1.0]] * 4
    assert "1 Stream, send copy: 0.5" in show(ax).alt


def test_many_cells_stand_in_several_charts():
    frame = runs(streams=tuple(range(1, 51)), rounds=2)
    parts = list(rows.in_parts(frame))
    assert [len(part) for part in parts] == [80, 80, 40]
    whole = pd.concat(parts, ignore_index=True)
    assert list(whole["run_id"]) == list(frame["run_id"])
