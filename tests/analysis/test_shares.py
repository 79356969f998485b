"""Shares of several flows on a stranger's study: three queues, eight flows, 0.4 Mb/s a flow."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import synthetic
from matplotlib.text import Text
from uneven_flows import BBR_SHARE, STUDY, measured, stranger

from netlab import study as studies
from netlab.analysis import answers, later_flows, share_over_time, shares
from netlab.analysis.answers import headline
from netlab.analysis.any_factors import levels_of
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.measured import Measured, from_frames
from netlab.charts import shares as charts
from netlab.charts.cell_rows import row_labels
from netlab.files.tables import HOLLOW
from netlab.report import front, notebook_answer, pages, tables, view_pages
from netlab.report import shares as shown
from netlab.study import flows
from netlab.study.base import controls


@pytest.fixture
def study(tmp_path):
    return stranger(tmp_path)


@pytest.fixture
def m(study, tmp_path) -> Measured:
    return measured(study, tmp_path)


def test_each_stack_has_its_share_of_every_queue_with_an_interval_over_the_rounds(m):
    frame = shares.of_stacks(m)
    assert set(frame["control"]) == {"bbr", "cubic"} and len(frame) == 6
    assert (frame["flows"] == 4).all() and (frame["of_flows"] == 8).all()
    for row in frame.to_dict("records"):
        queue_B = levels_of(row["factors"])["queue_B"]
        share = BBR_SHARE[queue_B] if row["control"] == "bbr" else 1 - BBR_SHARE[queue_B]
        assert row["share_percent"] == pytest.approx(100 * share, abs=4)
        assert row["share_low_percent"] < row["share_percent"] < row["share_high_percent"]
    assert (frame.groupby(list(CELL_KEYS))["share_percent"].sum() - 100).abs().max() < 1e-9


def test_the_index_is_that_of_the_known_shares(m):
    frame = shares.of_jain(m)
    for row in frame.to_dict("records"):
        share = BBR_SHARE[levels_of(row["factors"])["queue_B"]]
        each = np.repeat([share / 4, (1 - share) / 4], 4)
        assert row["jain_index"] == pytest.approx(1 / (8 * (each**2).sum()), abs=0.03)
        assert row["jain_low"] <= row["jain_index"] <= row["jain_high"] <= 1


def test_every_stream_has_a_share_and_eight_make_a_whole(m):
    frame = shares.of_each_stream(m)
    assert len(frame) == 3 * 8
    whole = frame.groupby("factors")["share_percent"].sum()
    assert whole.to_numpy() == pytest.approx(100)


def test_cells_have_columns_of_shares_and_of_the_index(m):
    frame = shares.with_shares(m, m.cells)
    assert len(frame) == len(m.cells)
    names = {"jain_index", "jain_low", "jain_high", "share_bbr_percent", "share_bbr_low_percent"}
    assert names <= set(frame)
    assert frame["share_bbr_percent"].notna().all()
    assert not {"jain_index", "share_bbr_percent"} & set(m.cells)


def test_two_rounds_have_no_interval_and_no_round_no_row(study, tmp_path):
    two = measured(study, tmp_path, synthetic.only(round=[1, 2]))
    assert shares.of_jain(two)["jain_low"].isna().all()
    assert shares.of_stacks(two)["share_percent"].notna().all()


def test_a_disturbed_cell_is_marked_and_has_no_interval(study, tmp_path):
    m = measured(study, tmp_path, synthetic.setting({"flags": "interference"}))
    frame = shares.of_stacks(m)
    assert len(frame) == 6 and set(frame["disturbed"]) == {"interference"}
    assert frame["share_low_percent"].isna().all()
    assert shown.stacks(m).frame["share, %"].str.startswith(HOLLOW).all()
    assert "share_bbr_percent" not in shares.with_shares(m, m.cells)


def test_the_page_has_charts_and_tables_and_says_nothing_of_2003(m):
    (page,) = view_pages._shares(m)
    text = str(page.body)
    assert page.file == "shares.html"
    plain = re.sub(r"<svg.*?</svg>|<[^>]*>", " ", text, flags=re.S)
    everything = " ".join([plain, *re.findall(r'aria-label="([^"]*)"', text)])
    for gone in ("nan", "183", "SLAC", "2003", "one of the two", "BBR 0 "):
        assert gone not in everything, gone
    drawn = shown.drawn(m)["mixed"]
    assert len(drawn.charts) == 3  # stacks, index, streams over time
    assert len(shown.stacks(m).frame) == 6, "all three queues"
    assert set(shown.stacks(m).frame["flows"]) == {"4 of 8"}
    rates = shown.stacks(m).frame["Mb/s a flow"].astype(float)
    assert rates.between(0.1, 0.8).all() and rates.round(1).isin([0.4]).sum() == 2
    assert len(shown.jain(m).frame) == 3 and len(shown.streams(m).frame) == 24


def test_single_streams_and_results_without_samples_have_no_page(m):
    assert view_pages._shares(replace(m, samples=None)) == []
    assert "No run of several streams" in repr(shown.jain(replace(m, samples=None)))
    one = replace(m, runs=m.runs.assign(streams=1))
    assert shares.of_jain(one).empty


def test_streams_of_one_stack_have_an_index_and_no_table_of_stacks(study, tmp_path):
    alone = study.model_copy(update={"congestion": "cubic"})
    m = measured(alone, tmp_path)
    assert len(shares.of_jain(m)) == 3
    assert "several congestion controls" in repr(shown.stacks(m))
    assert [s for s, _ in view_pages._shares(m)[0].contents if "stack" in s] == []


def test_both_directions_are_shared_each_for_itself(study, tmp_path):
    group = study.groups[0].model_copy(update={"direction": "<->"})
    m = measured(study.model_copy(update={"groups": (group,)}), tmp_path)
    frame = shares.of_jain(m)
    assert set(frame["way"]) == {"forward", "reverse"} and len(frame) == 6


def test_the_headline_names_the_factors_that_the_study_varies(m):
    design, _, best, *_ = headline(m)
    assert "8 streams, queue 9000, 20000 and 60000 B; " in design
    assert re.search(r"8 streams, queue (9000|20000|60000) B", best)
    many = replace(m, cells=m.cells.assign(factors=""))
    assert "queue" not in " ".join(headline(many))


def test_the_whole_site_draws_the_page_among_the_others(m):
    files = [page.file for page in pages.study_pages(m)]
    assert "shares.html" in files
    assert notebook_answer.highest_goodput(m) and tables.summary(m)


def test_one_flow_of_a_stack_beside_sixteen_is_named_by_its_stream():
    stacks = [shares.stack_of_stream("bbr+16*cubic", stream) for stream in range(18)]
    assert stacks == ["BBR", *["CUBIC"] * 16, "BBR"]


@pytest.mark.parametrize(
    ("congestion", "text"),
    [
        ("cubic+reno+cubic", "2 CUBIC and Reno"),
        ("bbr+16*cubic", "BBR and 16 CUBIC"),
        ("bbr+2*cubic+reno+cubic", "BBR, 3 CUBIC and Reno"),
        ("fast+reno+fast-small", "FAST, Reno and FAST (fast-small)"),
        ("bbr-slow+2*bbr-new+bbr-slow", "2 BBR (bbr-slow) and 2 BBR (bbr-new)"),
    ],
)
def test_each_stack_of_a_mixture_is_named_once_and_two_are_told_apart(congestion, text):
    assert shares.stacks_text(controls(congestion)) == text


def test_stacks_of_one_usual_name_are_told_apart_in_tables_and_in_the_legend(tmp_path):
    more = "stacks: {bbr-new: {law: kernel}, bbr-slow: {law: kernel}}\n"
    text = STUDY.replace("congestion: bbr+cubic", "congestion: bbr-new+bbr-slow") + more
    (tmp_path / "two-bbr.yml").write_text(text)
    m = measured(studies.load(tmp_path / "two-bbr.yml"), tmp_path)
    named = {"BBR (bbr-new)", "BBR (bbr-slow)"}
    for table in (shown.stacks(m), shown.streams(m)):
        assert set(table.frame["stack"]) == named
    assert set(shown.jain(m).frame["stacks"]) == {"BBR (bbr-new) and BBR (bbr-slow)"}
    ax = charts.stacks(shown.mixed(m), row_labels(m.cells, m.study))
    assert named <= {text.get_text() for text in ax.figure.findobj(Text)}


LATE = """\
groups:
  - {name: mixed, path: wire, sender: a,
     flows: [{congestion: bbr, count: 2}, {congestion: cubic, count: 2, start_s: START}]}
streams: [4]
"""


def late(tmp_path, start_s: float, share: float) -> Measured:
    """Two CUBIC flows join two of BBR, and take this share a second later."""
    text = re.sub(r"(?s)groups:.*?tunings", "tunings", STUDY).replace("streams: [8]\n", "")
    text = text.replace("congestion: bbr+cubic\n", "") + LATE.replace("START", str(start_s))
    (tmp_path / "late.yml").write_text(
        text.replace("queue_B: [9000, 20000, 60000]", "queue_B: [9]")
    )
    study = studies.load(tmp_path / "late.yml")
    runs = synthetic.runs_of(study, value=lambda *_at: (0.43, "loss"))
    runs = runs.assign(flows=flows.as_text(study.groups[0].flows))
    frame = synthetic.intervals_of(runs, study, noise=0.0)
    whole_B = 4 * frame["bytes"].mean()
    joined = frame["t_s"] > start_s
    now = np.where(frame["t_s"] > start_s + 1, share, 0.05)
    part = np.where(frame["stream"] < 2, np.where(joined, 1 - now, 1.0), np.where(joined, now, 0.0))
    frame = frame.assign(bytes=(whole_B * part / 2).astype("int64"))
    return from_frames(study, runs, frame, tmp_path)


def test_newcomers_have_their_share_while_all_are_on_and_the_time_until_it_is_fair(tmp_path):
    m = late(tmp_path, 1.0, 0.5)
    (row,) = later_flows.of_newcomers(m).to_dict("records")
    assert (row["control"], row["flows"], row["of_flows"], row["start_s"]) == ("cubic", 2, 4, 1.0)
    # one second of 5 % and the rest of one half; a window of 4 s
    assert 30 < row["share_percent"] < 50 and row["n_fair"] == row["n_runs"] == 4
    assert 1.0 < row["fair_after_s"] <= 2.2
    assert "from, s" in shown.newcomers(m).frame
    (over_time,) = share_over_time.timelines_of(m, "mixed")
    share, equal = later_flows.shares_over_time(over_time.rates, over_time.flows, 1)
    assert equal.iloc[0] == 0 and equal.iloc[-1] == 50
    assert share.iloc[-1] == pytest.approx(50, abs=1)
    assert len(shown.drawn(m)["mixed"].charts) == 4


def test_round_trips_of_flows_have_shares_columns_and_a_sentence_of_their_own(tmp_path):
    """The same stack twice: two flows at 10 ms have four fifths, two at 50 ms one."""
    text = re.sub(r"(?s)groups:.*?tunings", "tunings", STUDY).replace("streams: [8]\n", "")
    text = text.replace("congestion: bbr+cubic\n", "congestion: cubic\n") + ROUND_TRIPS
    (tmp_path / "rtts.yml").write_text(text)
    study = studies.load(tmp_path / "rtts.yml")
    runs = synthetic.runs_of(study, value=lambda *_at: (0.43, "loss"))
    runs = runs.assign(flows=flows.as_text(study.groups[0].flows), congestion="cubic")
    frame = synthetic.intervals_of(runs, study, noise=0.0)
    part = np.where(frame["stream"] < 2, 0.4, 0.1)
    frame = frame.assign(bytes=(4 * frame["bytes"].mean() * part).astype("int64"))
    m = from_frames(study, runs, frame, tmp_path)
    stacks = shares.of_stacks(m)
    assert list(stacks["control"]) == ["cubic@10ms", "cubic@50ms"] * 3
    assert stacks["share_percent"].to_numpy() == pytest.approx([80, 20] * 3, abs=0.1)
    assert set(shown.stacks(m).frame["stack"]) == {"CUBIC at 10 ms", "CUBIC at 50 ms"}
    assert set(shares.of_runs(m).columns) == {
        "share_cubic_10ms_percent",
        "share_cubic_50ms_percent",
    }
    cells = shares.with_shares(m, m.cells)
    assert cells["share_cubic_50ms_percent"].to_numpy() == pytest.approx([20] * 3, abs=0.1)
    assert cells["share_cubic_50ms_low_percent"].notna().all()
    # (2 * 4 + 2 * 1)² / (4 * (2 * 16 + 2 * 1))
    assert cells["jain_index"].to_numpy() == pytest.approx([100 / 136] * 3, abs=1e-3)
    assert answers.question(m).startswith("CUBIC at 10 ms's share of the bytes is 80")
    assert len(shown.drawn(m)["mixed"].charts) == 3


SENDERS = """\
hosts: {a: {kind: lab}, b: {kind: lab}, left.2: {kind: lab}}
paths:
  wire:
    ends: [{host: a}, {host: b}]
    also: [{host: left.2}]
    link: {emulator: {rtt_ms: 40, rate_Mbps: 3.5, queue_B: 9000}}
groups:
  - {name: mixed, path: wire, sender: a, flows: [FLOWS]}
streams: [4]
"""


@pytest.mark.parametrize(
    ("flows_of", "controls", "stacks"),
    [
        (
            "{}, {count: 3, from: left.2}",
            ["cubic@from_a", "cubic@from_left.2"],
            ["CUBIC from a", "CUBIC from left.2"],
        ),
        (
            "{rtt_ms: 10}, {count: 3, from: left.2, rtt_ms: 50}",
            ["cubic@10ms_from_a", "cubic@50ms_from_left.2"],
            ["CUBIC at 10 ms from a", "CUBIC at 50 ms from left.2"],
        ),
    ],
)
def test_each_of_several_senders_has_a_share_a_column_and_a_name(
    tmp_path, flows_of, controls, stacks
):
    """The first has two fifths, three flows of the other one fifth each."""
    text = re.sub(r"(?s)hosts:.*?tunings", "tunings", STUDY).replace("streams: [8]\n", "")
    text = text.replace("congestion: bbr+cubic\n", "congestion: cubic\n")
    (tmp_path / "incast.yml").write_text(text + SENDERS.replace("FLOWS", flows_of))
    study = studies.load(tmp_path / "incast.yml")
    runs = synthetic.runs_of(study, value=lambda *_at: (0.43, "link"))
    planned = flows.with_hosts(study.groups[0].flows, "a")
    runs = runs.assign(flows=flows.as_text(planned), congestion="cubic")
    frame = synthetic.intervals_of(runs, study, noise=0.0)
    part = np.where(frame["stream"] < 1, 0.4, 0.2)
    frame = frame.assign(bytes=(4 * frame["bytes"].mean() * part).astype("int64"))
    m = from_frames(study, runs, frame, tmp_path)
    of_stacks = shares.of_stacks(m)
    assert list(of_stacks["control"]) == controls * 3
    assert of_stacks["share_percent"].to_numpy() == pytest.approx([40, 60] * 3, abs=0.1)
    assert list(shown.stacks(m).frame["stack"])[:2] == stacks
    columns = {f"share_{control.replace('@', '_')}_percent" for control in controls}
    assert set(shares.of_runs(m).columns) == columns < set(shares.with_shares(m, m.cells).columns)
    # (4 + 3 * 2)² / (4 * (16 + 3 * 4))
    assert shares.of_jain(m)["jain_index"].to_numpy() == pytest.approx([100 / 112] * 3, abs=1e-3)
    assert answers.question(m).startswith(f"The share of {stacks[0]} in the bytes is 40")
    assert len(shown.drawn(m)["mixed"].charts) == 3


def over_two_links(tmp_path, *parts: float) -> Measured:
    """Runs of four flows over two links that have these parts of all bytes."""
    text = re.sub(r"(?s)groups:.*?tunings", "tunings", STUDY).replace("streams: [8]\n", "")
    text = text.replace("queue_B: 9000}", "queue_B: 9000, second: {rate_Mbps: 9}}")
    text = text.replace("congestion: bbr+cubic\n", "congestion: cubic\n") + LINKS_OF_FLOWS
    (tmp_path / "lot.yml").write_text(text)
    study = studies.load(tmp_path / "lot.yml")
    runs = synthetic.runs_of(study, value=lambda *_at: (0.43, "link"))
    runs = runs.assign(flows=flows.as_text(study.groups[0].flows), congestion="cubic")
    frame = synthetic.intervals_of(runs, study, noise=0.0)
    part = np.array(parts)[frame["stream"]]
    frame = frame.assign(bytes=(4 * frame["bytes"].mean() * part).astype("int64"))
    return from_frames(study, runs, frame, tmp_path)


def test_each_of_two_links_has_shares_an_index_and_columns_of_its_own(tmp_path):
    """Of 10 parts a flow over both has 1, the first link's own 3, the second's two 3 each."""
    m = over_two_links(tmp_path, 0.1, 0.3, 0.3, 0.3)
    stacks = shares.of_stacks(m)
    rows = [*zip(stacks["way"], stacks["control"], stacks["flows"], strict=True)]
    assert rows[:4] == [
        *(("first link", "cubic@both", 1), ("first link", "cubic@first", 1)),
        *(("second link", "cubic@both", 1), ("second link", "cubic@second", 2)),
    ]
    assert stacks["share_percent"].to_numpy() == pytest.approx(
        [25, 75, 100 / 7, 600 / 7] * 3, abs=0.1
    )
    index = shares.of_jain(m)
    assert list(index["way"]) == ["first link", "second link"] * 3
    # (1 + 3)² / (2 (1 + 9)), and (1 + 3 + 3)² / (3 (1 + 9 + 9))
    assert index["jain_index"].to_numpy() == pytest.approx([0.8, 49 / 57] * 3, abs=1e-3)
    assert list(index["of_flows"]) == [2, 3] * 3
    assert len(shares.of_each_stream(m)) == 5 * 3
    cells = shares.with_shares(m, m.cells)
    assert len(cells) == len(m.cells)
    assert cells["jain_index_of_second"].to_numpy() == pytest.approx([49 / 57] * 3, abs=1e-3)
    assert cells["share_cubic_both_of_first_percent"].to_numpy() == pytest.approx([25] * 3, abs=0.1)
    assert cells["share_cubic_second_of_second_low_percent"].notna().all()
    assert {"share_cubic_both_of_first_percent", "share_cubic_both_of_second_percent"} < set(
        shares.of_runs(m).columns
    )
    table = shown.stacks(m).frame
    assert list(table["link"])[:3] == ["first link", "first link", "second link"]
    assert list(table["stack"])[1] == "CUBIC over the first link"
    assert answers.question(m) == (
        "The share of CUBIC over both links in the bytes of a link is 25.0 ± 0.0 % with 1 of 2 "
        "flows (plain, 1500 B, 4 Streams, queue 9000 B, first link) to 14.3 ± 0.0 % with 1 of 3 "
        "flows (plain, 1500 B, 4 Streams, queue 9000 B, second link): more than an equal share of "
        "the flows of that link in 0 and less in 6 of 6 links."
    )
    of_group = shown.drawn(m)["lot"].charts
    assert len(of_group) == 3
    assert "second link" in of_group[0].alt and "of the first link" in of_group[2].alt


def test_a_link_without_a_byte_leaves_each_stream_its_name_over_time(tmp_path):
    """Only the last two of four streams have any, and they pass the second link alone."""
    m = over_two_links(tmp_path, 0.0, 0.0, 0.5, 0.5)
    assert set(shares.of_stacks(m)["way"]) == {"second link"}
    for one in share_over_time.timelines_of(m, "lot"):
        assert one.controls == ("cubic@both", "cubic@first", "cubic@second", "cubic@second")
        assert one.rates.iloc[-1].drop("jain").gt(0).tolist() == [False, False, True, True]


LINKS_OF_FLOWS = """\
groups:
  - {name: lot, path: wire, sender: a,
     flows: [{over: both}, {over: first}, {over: second, count: 2}]}
streams: [4]
"""


ROUND_TRIPS = """\
groups:
  - {name: mixed, path: wire, sender: a,
     flows: [{count: 2, rtt_ms: 10}, {count: 2, rtt_ms: 50}]}
streams: [4]
"""


def test_newcomers_that_never_have_an_equal_share_say_so(tmp_path):
    m = late(tmp_path, 1.0, 0.2)
    (row,) = later_flows.of_newcomers(m).to_dict("records")
    assert row["n_fair"] == 0 and np.isnan(row["fair_after_s"])
    table = shown.newcomers(m)
    assert table.frame["s until 0.8 of it"].tolist() == ["not reached"]
    assert "nan" not in table.csv_text()


def test_cells_without_newcomers_have_no_table_of_them(m):
    assert later_flows.of_newcomers(m).empty
    assert "No cell has flows that start after others" in repr(shown.newcomers(m))


def test_a_report_of_mixed_stacks_opens_with_their_shares(m, study, tmp_path):
    (sentence,) = answers.sharing(m)
    assert sentence == answers.question(m) and sentence in headline(m)
    assert re.search(
        r"^BBR's share of the bytes is (8\d|79).* % with 4 of 8 flows \(.*9000.*\) to (1[5-9]|2\d)",
        sentence,
    )
    assert "more than an equal share of all flows in 1 and less in 1 of 3 cells" in sentence
    opening = front.picture(m)
    assert len(opening.charts) == 1 and "share of each stack" in opening.charts[0].alt
    alone = measured(study.model_copy(update={"congestion": "cubic"}), tmp_path)
    assert answers.sharing(alone) == () and answers.question(alone) == answers.best(alone)
    disturbed = measured(study, tmp_path, synthetic.setting({"flags": "interference"}))
    assert answers.question(disturbed) == answers.best(disturbed)


SUFFIXED = """\
netlab: 1
name: suffixed
title: Names that end as columns do
hosts: {a: {kind: lab}, b: {kind: lab}, c: {kind: lab}, c_low: {kind: lab}}
paths:
  wire:
    ends: [{host: a}, {host: b}]
    also: [{host: c}, {host: c_low}]
    link: {emulator: {rtt_ms: 40, rate_Mbps: 3.5, queue_B: 9000}}
tunings: [{name: plain, mtus_B: [1500], knobs: []}]
stacks: {cubic_50ms: {law: kernel}, reno_high: {law: kernel}}
congestion: cubic
timing: {rounds: 4, seconds: 4, interval_ms: 200}
streams: [6]
groups:
"""
OF_HOSTS = "- {name: hosts, path: wire, sender: a, flows: [{}, {from: c}, {count: 4, from: c_low}]}"
OF_TRIPS = "- {name: trips, path: wire, sender: a, flows: [{count: 5, rtt_ms: 10}, {rtt_ms: 50}]}"
OF_STACKS = "- {name: stacks, path: wire, sender: a, congestion: STACKS}"


@pytest.mark.parametrize(
    ("groups", "shares_of"),
    [
        ([OF_HOSTS], {"cubic_from_c": 1 / 6, "cubic_from_c_low": 4 / 6}),
        ([OF_STACKS.replace("STACKS", "reno+5*reno_high")], {"reno": 1 / 6, "reno_high": 5 / 6}),
        (
            [OF_TRIPS, OF_STACKS.replace("STACKS", "2*cubic_50ms+4*reno")],
            {"cubic__50ms": 1 / 6, "cubic_50ms": 2 / 6},
        ),
    ],
)
def test_each_share_has_a_column_where_a_stack_or_a_host_ends_as_a_column_does(
    tmp_path, groups, shares_of
):
    (tmp_path / "suffixed.yml").write_text(SUFFIXED + "\n".join([*groups, ""]))
    study = studies.load(tmp_path / "suffixed.yml")
    runs = synthetic.runs_of(study, value=lambda *_at: (0.43, "link"))
    planned = {g.name: flows.as_text(flows.with_hosts(g.flows, g.sender)) for g in study.groups}
    runs = runs.assign(flows=runs["group"].map(planned).astype("string"))
    m = from_frames(study, runs, synthetic.intervals_of(runs, study), tmp_path)
    cells, of_runs = shares.with_shares(m, m.cells), shares.of_runs(m)
    assert cells.columns.is_unique
    for name, share in shares_of.items():
        for means in (cells[f"share_{name}_percent"], of_runs[f"share_{name}_percent"]):
            assert means.dropna().to_numpy() == pytest.approx(100 * share, abs=2)
    # each has the ends of its interval
    assert len(cells.filter(regex="share_.*_percent").columns) == 3 * len(of_runs.columns)
