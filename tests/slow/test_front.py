"""A report opens with a chart that shows something, if anything was measured."""

from __future__ import annotations

import synthetic

from netlab.report import explore, front
from netlab.study import load


def without(group: str):
    """Of this group every run is flagged."""

    def change(row):
        if row["group"] == group:
            row |= {"flags": "interference", "message": "busy"}
        return True

    return change


def opening(study, change=None) -> str:
    """The group in the words of the chart."""
    return front.picture(synthetic.measured(study, change=change)).alt.split(", ")[1]


def test_the_first_group_opens_a_report_or_the_next_one_with_a_valid_run():
    study = synthetic.openlab()
    assert opening(study) == "Linux64 → Linux64"
    assert opening(study, without("Linux64 -> Linux64")) == "Linux64 ↔ Linux64"


def test_a_group_with_a_target_opens_it_unless_it_has_no_valid_run():
    study = synthetic.openlab()
    groups = tuple(
        group.model_copy(update={"target_percent_of_bus": 90.0 if place == 2 else None})
        for place, group in enumerate(study.groups)
    )
    study = study.model_copy(update={"groups": groups})
    assert opening(study) == "Linux32 → Linux64"
    assert opening(study, without("Linux32 -> Linux64")) == "Linux64 → Linux64"


def test_without_a_valid_run_the_first_group_is_drawn_empty():
    study = synthetic.openlab()
    every = opening(study, lambda row: row.update(flags="stalled", message="busy") or True)
    assert every == "Linux64 → Linux64"


def test_of_factors_the_first_combination_with_a_valid_run_is_drawn():
    study = load(synthetic.openlab_file().with_name("sc-2003.yml"))
    m = synthetic.measured(study, change=lambda row: '"up"' in row["factors"])
    (chart,) = front.picture(m).charts
    assert "kernel up" in chart.alt
    assert all("kernel up" in one.alt for one in explore.charts(m).charts)
