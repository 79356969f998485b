"""A study by name, path or content: its plan, and how it shows itself."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest
import synthetic
from lab_study import lab_study
from openlab_study import CONTENT, OPENLAB

import netlab
from netlab.errors import BadInput
from netlab.face.design import design_table
from netlab.files.yaml_file import read_yaml
from netlab.results.flags import meaning_of, remedy_of
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


@pytest.mark.parametrize(
    ("key", "levels", "reason"),
    [
        ("mtus_B", [50], "expected 576 or more (found 50)"),
        ("mtus_B", [1500, 1500], "the level 1500 is given twice"),
        ("windows_B", [-1], "expected 0 or more (found -1)"),
        ("windows_B", [5, 5], "the level 5 is given twice"),
    ],
)
def test_a_mistake_in_a_list_of_a_notebook_names_the_parameter(key, levels, reason):
    cells = {"mtus_B": [1500], "windows_B": [16384]} | {key: levels}
    netlab.check_parameters(cells, mtus_B=list, windows_B=list)
    tuning = {"name": "openlab-2003-normal", "mtus_B": cells["mtus_B"]}
    factors = {"buffer_B": cells["windows_B"]}
    with pytest.raises(BadInput) as caught:
        netlab.Study(lab_study().model_dump() | {"tunings": [tuning], "factors": factors})
    assert str(caught.value) == f"parameters: {key}: {reason}"


def test_the_plan_has_a_row_a_run_in_the_order_of_measuring():
    study = netlab.Study("openlab-2003", rounds=3)
    plan = study.plan()
    assert len(plan) == 420 and plan["order"].tolist() == list(range(420))
    planned = schedule.visits(study.design)
    assert plan[["block", "round"]].drop_duplicates().to_numpy().tolist() == [
        [visit.block_id, visit.round] for visit in planned
    ]
    row, run = plan.iloc[0], planned[0].runs[0]
    levels = (run.group.name, run.streams, run.round)
    assert (row["group"], row["streams"], row["round"]) == levels
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
        assert "<script>" not in page and "<b>left" not in page and len(page) < 10_000
        runs = len(study.plan().query("round == 1"))
        assert f"{runs} runs in" in text and f"{runs} runs in" in page


def note_of(streams: list[int], seconds: float, rounds: int = 1) -> str:
    study = lab_study()
    changed = {"rounds": rounds, "seconds": seconds, "warmup_s": 0.1, "drain_s": 1.0}
    update = {"streams": tuple(streams), "timing": study.timing.model_copy(update=changed)}
    return design_table(study.model_copy(update=update)).note


@pytest.mark.parametrize(
    ("design", "text"),
    [
        (([1], 0.3), "1 round of 1 run in 1 block, each 0.3 s after 0.1 s of warm-up: 0.4 s of"),
        (([1, 2, 4], 0.3, 2), "2 rounds of 3 runs in 1 block"),
        (([1, 2], 10.0), "warm-up: 20 s of measuring a round."),
        (([1, 2], 60.0), "warm-up: 2 min of measuring a round."),
    ],
)
def test_one_is_in_the_singular_and_short_times_are_in_seconds(design, text):
    assert text in note_of(*design)


@pytest.fixture(scope="module")
def study(home):
    return netlab.Study("openlab-2003", quick=True)


def chart_and_table(one) -> str:
    """HTML of an object, with a described chart before its first table."""
    text = one._repr_html_()
    assert 0 <= text.index('<img role="img" alt="') < text.index("<table")
    return text


def test_a_plan_shows_the_order_of_measuring(study):
    plan = study.plan()
    assert "420 runs in the order of measuring" in chart_and_table(plan)
    assert "3 rounds, each with all rows" in chart_and_table(plan)
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


def test_a_flagged_run_says_what_its_flag_means_and_what_to_do(results):
    valid = results.run(results.runs["run_id"].iloc[0])
    flagged = replace(valid, record=valid.record | {"flags": "stalled", "message": "no byte"})
    rows = dict(flagged._table().frame.to_numpy())
    assert rows["stalled means"] == meaning_of("stalled")
    assert rows["for stalled"] == remedy_of("stalled")
    assert not [name for name in dict(valid._table().frame.to_numpy()) if " means" in name]


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
