"""The chart of a whole study is as wide as a page, and no longer than it must be."""

import pytest
import synthetic
import yaml
from studies import two_hosts

from netlab import study as studies
from netlab.charts.study_charts import whole_panels


def drawn(directory, groups, tunings):
    file = directory / "study.yml"
    content = two_hosts(
        "whole",
        {"rate_Mbps": 1000.0},
        *({"name": f"group {number}"} for number in range(groups)),
        tunings=[{"name": f"t{n}", "mtus_B": [1500], "knobs": []} for n in range(tunings)],
        streams=[1, 4],
    )
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    measured = synthetic.measured(studies.load(file, rounds=3))
    return whole_panels(measured.cells, study=measured.study)


@pytest.mark.parametrize(
    ("groups", "tunings", "shape"),
    [
        (5, 3, (3, 5)),
        (1, 5, (1, 5)),
        (8, 1, (2, 4)),
        (7, 2, (4, 4)),
        (13, 1, (3, 5)),
        (7, 4, (7, 4)),
    ],
)
def test_groups_that_would_stand_in_many_rows_stand_beside_each_other(
    tmp_path, groups, tunings, shape
):
    axes = drawn(tmp_path, groups, tunings).axes
    assert axes.shape == shape
    shown = [ax for ax in axes.flat if ax.axison]
    assert len(shown) == groups * tunings
    named = {ax.get_title(loc="left") or ax.get_ylabel() for ax in shown} | {
        a.get_ylabel() for a in shown
    }
    assert {f"group {number}" for number in range(groups)} <= named


def test_each_column_has_the_axis_of_streams_at_its_lowest_panel(tmp_path):
    axes = drawn(tmp_path, 7, 1).axes
    assert axes.shape == (2, 4)
    with_axis = [[ax.get_xlabel() == "streams" for ax in row] for row in axes]
    assert with_axis == [[False, False, False, True], [True, True, True, False]]
