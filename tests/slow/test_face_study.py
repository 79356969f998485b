"""A study by name, path or content: its plan, and how it shows itself."""

from __future__ import annotations

import json
import math
import os

import pandas as pd
import pytest
import synthetic
from lab_study import lab_study
from openlab import CONTENT, OPENLAB

import netlab
from netlab.errors import BadInput
from netlab.face.block import MeasuredBlock
from netlab.face.design import design_table
from netlab.face.notebook import Site
from netlab.face.parts import COLUMNS, Changes, HostChanges
from netlab.files.yaml_file import read_yaml
from netlab.results.columns import RUN_COLUMNS
from netlab.study import schedule
from netlab.tuning.knobs import Knob
from netlab.tuning.plan import Change


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


# The table of a study: its note counts runs, blocks and time.


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


# Study, plan, group, tuning, run, results and block show a chart and a table; as text a table.


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


# The changes of a tuning as a diff and as a frame.


def change(name: str, old: str | None, new: str, **more) -> Change:
    knob = Knob(kind="sysctl", name=name, value=new, source="appendix <B>")
    return Change(knob=knob, interface=None, old=old, supported=old is not None, **more)


SACK = change("net.ipv4.tcp_sack", "1", "0")
GONE = change("net.ipv4.tcp_tw_recycle", None, "1", reason="left Linux in 4.12")
CHANGES = Changes(
    (
        HostChanges("cable", "full", 9000, "left", (SACK, GONE)),
        HostChanges("cable", "full", 9000, "right", (SACK,)),
    )
)


def test_the_text_is_a_diff_under_a_heading_for_each_host():
    text = repr(CHANGES)
    assert text.startswith("# cable, full, MTU 9000: left\n- net.ipv4.tcp_sack = 1\n+ ")
    assert "! net.ipv4.tcp_tw_recycle = 1   # unsupported: left Linux in 4.12" in text
    assert text.count("# cable, full, MTU 9000") == 2


def test_the_html_has_the_same_text_escaped():
    page = CHANGES._repr_html_()
    for words in ("cable, full, MTU 9000: right", "- net.ipv4.tcp_sack = 1", "left Linux in 4.12"):
        assert words in page
    assert "<B>" not in page and "&lt;B&gt;" in page


def test_the_commands_are_those_of_the_changes_under_a_comment_for_each_host():
    queue = Knob(kind="txqueuelen", value="100", source="s")
    longer = Change(knob=queue, interface="eth0", old="1000", supported=True)
    equal = change("net.ipv4.tcp_sack", "0", "0")
    part = HostChanges("cable", "full", None, "left", (SACK, GONE, equal, longer))
    assert Changes((part,)).commands().splitlines() == [
        "# cable, full, MTU as found: left",
        "sysctl -w net.ipv4.tcp_sack=0",
        "ip link set dev eth0 txqueuelen 100",
    ]


def test_the_frame_has_a_row_a_knob():
    frame = CHANGES.frame
    assert tuple(frame.columns) == COLUMNS and len(frame) == 3
    assert frame["knob"].tolist() == [SACK.knob.label, GONE.knob.label, SACK.knob.label]
    assert frame["supported"].tolist() == [True, False, True]
    assert frame.loc[0, "old"] == "1" and frame.loc[0, "new"] == "0"


def test_without_a_tuning_there_are_no_changes():
    empty = Changes(())
    assert empty.frame.empty and tuple(empty.frame.columns) == COLUMNS
    assert repr(empty) in empty._repr_html_()


def test_a_site_is_a_path_and_shows_itself_as_a_link(tmp_path):
    site = Site(tmp_path / "a&b" / "index.html")
    assert repr(site) == os.fspath(site) == str(tmp_path / "a&b" / "index.html")
    assert "a&amp;b/index.html</a>" in site._repr_html_()
    address = f'<a href="{os.path.relpath(tmp_path)}/a%26b/index.html">'
    assert site._repr_html_().startswith(address) and 'href="file:///' in site._repr_html_()


# Path information in a block's notebook.


def shown(*rows: dict) -> str:
    """The text shown for runs of these values, the others missing."""
    names = [column.name for column in RUN_COLUMNS]
    runs = pd.DataFrame([dict.fromkeys(names) | row for row in rows], columns=names)
    page = MeasuredBlock(None, None, None, runs, pd.DataFrame()).path
    assert "<" not in page.text and page.text.splitlines()[0] in page._repr_html_()
    return page.text


def looked(started_at: int, ping: str) -> dict:
    check = {"ping": ping, "traceroute": "1 198.18.0.2"}
    return {"started_at": started_at, "provenance": json.dumps({"path_check": check})}


def test_the_latest_look_at_the_path_is_shown_as_printed():
    text = shown(looked(2, "ping two"), looked(1, "ping one"))
    assert text == "ping two\n\n1 198.18.0.2"
    assert "not checked" in shown({"started_at": 1, "provenance": "{}"})


def test_emulator_counts_are_summed_and_the_worst_run_is_named():
    did = {"path_packets": 1500, "path_drops": 3, "path_queue_drops": 2, "path_queue_max_B": 9000}
    did |= {"emulator_late_us": 50.0, "emulator_cpu_percent": 12.0}
    worse = did | {"emulator_late_us": 200.0, "path_queue_max_B": 12_000}
    text = shown({**looked(1, "p"), **did}, {**looked(2, "p"), **worse})
    assert "3,000 packets in 2 runs, 6 dropped, of them 4 by a full queue" in text
    assert "12,000 B" in text and "200 us late" in text and "12 % of a core" in text
