"""A study by name, path or content: its plan, and how it shows itself."""

from __future__ import annotations

import math

import pytest
import synthetic
from openlab import CONTENT, OPENLAB

import netlab
from netlab.errors import BadInput
from netlab.files.yaml_file import read_yaml
from netlab.study import schedule


def test_a_name_a_path_and_a_dict_are_the_same_study():
    named = netlab.Study("openlab-2003")
    assert named.design == netlab.Study(OPENLAB).design == netlab.Study(str(OPENLAB)).design
    assert named.design == netlab.Study(dict(read_yaml(OPENLAB))).design


def test_the_short_form_and_the_timing_can_be_chosen():
    study = netlab.Study(CONTENT, quick=True, rounds=1, seconds=0.1, seed=None)
    assert study.name == "openlab-2003-quick"
    assert study.design.timing.rounds == 1 and study.design.timing.seconds == 0.1
    with pytest.raises(BadInput, match="no such timing"):
        netlab.Study("openlab-2003", second=1)


def test_a_mistake_in_a_dict_names_its_key():
    with pytest.raises(BadInput, match=r"study: streams\.0"):
        netlab.Study(CONTENT | {"streams": [0]})
    with pytest.raises(BadInput, match="by name there are"):
        netlab.Study("openlab-2004")


def test_the_plan_has_a_row_a_run_in_the_order_of_measuring():
    study = netlab.Study("openlab-2003", rounds=3)
    plan = study.plan()
    assert len(plan) == 420 and plan["order"].tolist() == list(range(420))
    planned = schedule.visits(study.design)
    assert plan[["block", "round"]].drop_duplicates().to_numpy().tolist() == [
        [visit.block_id, visit.round] for visit in planned
    ]
    row = plan.iloc[0]
    run = planned[0].runs[0]
    assert (row["group"], row["streams"], row["round"]) == (
        run.group.name,
        run.streams,
        run.round,
    )
    assert row.block == f"{row.path}@{row.tuning}@{row.mtu_B}"
    assert plan["seconds"].tolist() == [pytest.approx(0.3)] * len(plan)
    assert plan.groupby(["group", "tuning", "mtu_B", "streams"]).size().unique().tolist() == [3]


def test_a_run_that_sends_an_amount_has_no_seconds_of_its_own():
    plan = netlab.Study("slac-2003").plan().set_index("group")
    amounts = [g.name for g in netlab.Study("slac-2003").design.groups if g.records is not None]
    assert amounts
    assert all(math.isnan(s) for s in plan.loc[amounts, "seconds"])
    assert plan.drop(amounts)["seconds"].notna().all()


def test_it_shows_its_groups_and_its_size_as_html_and_as_text(tmp_path):
    for study in (netlab.Study("openlab-2003"), netlab.Study(synthetic.foreign_file(tmp_path))):
        page, text = study._repr_html_(), repr(study)
        assert study.title in text and study.name in text and study.name in page
        assert all(group.name in text for group in study.design.groups)
        assert "<script>" not in page and "<b>left" not in page
        runs = len(study.plan().query("round == 1"))
        assert f"{runs} runs in" in text and f"{runs} runs in" in page
