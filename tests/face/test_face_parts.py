"""Study, plan, group, tuning, run, results and block show a chart and a table; as text a table."""

from __future__ import annotations

import pandas as pd
import pytest

import netlab


@pytest.fixture(scope="module")
def study(home):
    return netlab.Study("openlab-2003", quick=True)


def chart_and_table(one) -> str:
    """HTML of an object, with a described chart before its first table."""
    text = one._repr_html_()
    assert 0 <= text.index('<img role="img" alt="') < text.index("<table")
    return text


def test_a_study_and_its_plan_show_the_order_of_measuring(study):
    assert "280 runs in the order of measuring" in chart_and_table(study)
    plan = study.plan()
    assert "2 rounds, each with all rows" in chart_and_table(plan)
    assert type(plan.head()) is pd.DataFrame and plan[plan["round"] == 1].shape[0] == 140


def test_a_group_shows_its_cells_and_hosts(study):
    group = study.groups["Linux32 <-> Linux64"]
    text = chart_and_table(group)
    assert "Driver Tuning, 16114 B: 1, 4, 12, 20 streams" in text and "28</td>" in text
    assert "linux32 and linux64-a" in repr(group)


def test_a_tuning_shows_its_knobs_beside_the_others(study):
    text = chart_and_table(study.tunings["full"])
    assert "net.ipv4.tcp_rmem 1e+07" in text and "appendix C" in text
    assert list(study.tunings) == ["none", "kernel", "full"]
    assert "net.ipv4.tcp_wmem" in repr(study.tunings["full"])


def test_a_run_shows_its_samples(results):
    run = results.run(results.runs["run_id"].iloc[0])
    assert "goodput_MBps" in repr(run)
    if len(run.samples):
        assert "samples, in the window" in chart_and_table(run)
    with pytest.raises(netlab.errors.BadInput, match="no run has this value"):
        results.run("nobody")


def test_results_show_chart_answer_and_tables(results):
    text = chart_and_table(results)
    assert text.index("<img") < text.index("Highest goodput: ") < text.index("<table")
