"""`netlab import`: what can be read, once, without invented values; then its study."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import campaigns
import pytest
import synthetic
from click.testing import CliRunner
from imports.samples import ACCEPTED, IPERF2_2010, RAPID, RECORDED
from refusals import refused

from netlab import study as studies
from netlab.analysis.trust import FLAGGED, FLAGGED_CELLS, gate
from netlab.cli import main
from netlab.cli.loading import load_study
from netlab.cli.results import compare_command, results_group
from netlab.errors import BadInput
from netlab.experiment.campaign_record import open_record
from netlab.face.results import Results
from netlab.imports.commands import import_command
from netlab.imports.into_store import import_files
from netlab.imports.rows import Facts, mtu_of
from netlab.results.store import Damaged, Store

HOSTS = ("--study-name", "old", "--sender", "a", "--receiver", "b")
REST = ("--mtu", "9000", "--started-at", "2026-11-21T02:00:00Z", "--streams", "1")


def run(*words: object):
    return CliRunner().invoke(import_command, [str(word) for word in words])


def imported(row) -> dict:
    return json.loads(row["provenance"])["imported"]


def test_an_iperf3_file_needs_no_more_than_names(tmp_path):
    result = run(RECORDED / "iperf3-tcp.json", *HOSTS, "--into", tmp_path)
    assert result.exit_code == 0, result.output
    runs, intervals = Store(tmp_path).runs(), Store(tmp_path).intervals()
    (row,) = runs.to_dict("records")
    assert (row["mtu_B"], row["streams"], row["flags"]) == (9000, 1, "")
    assert row["message"] == "imported from iperf3 3.12"
    assert row["engine"] == row["group"] == "iperf3"
    assert imported(row)["sha256"] and imported(row)["file"] == "iperf3-tcp.json"
    assert imported(row)["unknown"] == ["tuning"]
    start = json.loads((RECORDED / "iperf3-tcp.json").read_text())["start"]["timestamp"]
    assert row["started_at"].timestamp() == start["timesecs"]
    assert intervals["bytes"].sum() == row["interval_sum_B"]
    assert set(intervals["run_id"]) == {row["run_id"]}
    assert runs["sender_cpu_percent"].isna().all() and runs["acked_B"].isna().all()


OTHER_ENDS = {f"iperf3-{test}.json" for test in ("study-server", "threads-server", "server")}
"""Reports of servers whose tests a client's file has too."""


def test_every_recorded_test_becomes_a_row(tmp_path):
    silent = [
        n for n in ACCEPTED if n.startswith("nuttcp-") and not re.search("verbose|bytes|study", n)
    ]
    towards = [n for n in ACCEPTED if re.search("reverse|flent-down", n)]
    rest = [n for n in ACCEPTED if n not in silent and n not in towards]
    for names, *ends, more in (
        (silent, "a", "b", {"streams": 1}),
        (towards, "b", "a", {}),
        (rest, "a", "b", {"measured_at": "receiver"}),
    ):
        facts = Facts("old", *ends, mtu_B=9000, started_at="mtime", **more)
        import_files([RECORDED / name for name in names], facts, tmp_path)
    runs = Store(tmp_path).runs()
    files = {imported(row)["file"] for row in runs.to_dict("records")}
    assert files == set(ACCEPTED) - OTHER_ENDS and runs["run_id"].is_unique
    assert list(runs["order"]) == list(range(len(files))) == list(range(len(runs)))
    assert (runs["goodput_MBps"].isna() == runs["sent_MBps"].notna()).all()
    assert (runs["goodput_MBps"].isna() == runs["flags"].eq("sender_only")).all()
    assert (runs["direction"] == "<->").sum() == 11
    udp = runs[runs["generator"].str.endswith("-udp")]
    assert len(udp) == sum("-udp" in name for name in ACCEPTED) == udp["lost_percent"].notna().sum()
    assert runs["lost_percent"].notna().sum() == len(udp) and set(udp["congestion"]) == {""}
    assert udp["lost_percent"].max() == pytest.approx(100 * 67689 / 112459)
    assert udp["group"].str.contains("udp").all() and not any(udp["message"].str.contains("left"))


BAD_FILES = [RECORDED / "iperf3-tcp.json", RECORDED / "iperf3-killed.json"]


def test_what_can_be_read_of_a_directory_is_imported_and_every_file_is_listed(tmp_path):
    (tmp_path / "in" / "below").mkdir(parents=True)
    (tmp_path / "in" / ".git").mkdir()
    for name in ("good.json", "below/good.txt", ".git/index"):
        (tmp_path / "in" / name).write_text(IPERF2_2010 + name)
    (tmp_path / "in" / "good.json").write_bytes(BAD_FILES[0].read_bytes())
    (tmp_path / "in" / "below" / "good.txt").write_text(IPERF2_2010)
    (tmp_path / "in" / "killed.json").write_bytes(BAD_FILES[1].read_bytes())
    (tmp_path / "in" / "notes.md").write_text("a note\n")
    when = ("--started-at", "2010-01-01")
    result = run(tmp_path / "in", *HOSTS, *when, "--into", tmp_path / "out")
    assert result.exit_code == 4, result.output
    head, *lines = result.stderr.splitlines()
    assert head.split() == ["file", "kind", "runs"]
    cells = [re.split("  +", line.strip(), maxsplit=2) for line in lines[:4]]
    assert [(Path(file).name, kind) for file, kind, _ in cells] == [
        ("good.txt", "iperf 2 text"),
        ("good.json", "iperf3 JSON"),
        ("killed.json", "iperf3 JSON"),
        ("notes.md", "unknown"),
    ]
    assert [words[:12] for _, _, words in cells] == ["2", "1", "line 148: er", "line 1: unkn"]
    assert len(Store(tmp_path / "out").runs()) == len(result.stdout.splitlines()) == 3


def test_what_can_be_read_of_a_file_is_imported_and_every_other_run_is_named(tmp_path):
    log = tmp_path / "log.json"
    good, bad = BAD_FILES
    other = (RECORDED / "iperf3-reverse.json").read_text()
    log.write_text(good.read_text() + bad.read_text() + other)
    into = ("--into", tmp_path / "out")
    assert run(log, *HOSTS, *into, "--strict").exit_code == 2
    result = run(log, *HOSTS, *into)
    assert result.exit_code == 4
    cells = [
        re.split("  +", line.strip(), maxsplit=2)[2] for line in result.stderr.splitlines()[1:3]
    ]
    assert cells[0] == "2" and "run failed" in cells[1]
    assert list(Store(tmp_path / "out").runs()["sender"]) == [HOSTS[3], HOSTS[5]]
    result = run(log, *HOSTS, *into)
    assert result.exit_code == 4 and not result.stdout and "imported before" in result.stderr


def test_an_import_writes_the_study_of_its_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path))
    names = ["tcp", "bytes", "parallel", "bidir"]
    for study in ("old", "new"):
        for at in (names[:2], names[2:]):
            files = [RECORDED / f"iperf3-{name}.json" for name in at]
            result = run(*files, "--study-name", study, *HOSTS[2:])
            assert result.exit_code == 0, result.output
    design = studies.load_stored(tmp_path / "results" / "old" / "study.yml")
    assert [(group.name, group.direction) for group in design.groups] == [
        ("iperf3", "->"),
        ("iperf3-cubic", "<->"),
    ]
    assert design.combinations(design.groups[0]) and design.streams == (1, 2, 4)
    results = Results("old")
    assert len(results.runs) == 4 and len(results.cells) == 3
    assert CliRunner().invoke(main, ["results", "list", "old"]).exit_code == 0
    done = CliRunner().invoke(compare_command, ["old", "new"])
    assert done.exit_code == 0 and "over 3 cells: +0.0 %" in done.stdout
    (loaded, kept) = load_study("old"), load_study("old", results=tmp_path / "results" / "old")
    assert loaded == kept == design
    with refused(BadInput, "E-FILES-006"):
        load_study("other", results=tmp_path / "results" / "old")


def test_latency_beside_the_streams_is_kept(tmp_path):
    run(RECORDED / "flent-rrul.flent.gz", *HOSTS, "--into", tmp_path)
    (row,) = Store(tmp_path).runs().to_dict("records")
    latency = imported(row)["latency_ms"]
    assert len(latency) == 4 and latency["Ping (ms) ICMP"]["avg"] == row["ping_avg_ms"]
    assert 0 < row["ping_min_ms"] < row["ping_avg_ms"] < row["ping_max_ms"]
    assert set(Store(tmp_path).intervals()["stream"]) == {0, 1, 2, 3}


def test_pacing_is_a_factor(tmp_path):
    files = [RECORDED / f"iperf3-{name}.json" for name in ("tcp", "paced")]
    assert run(*files, *HOSTS, "--into", tmp_path).exit_code == 0
    free, paced = Store(tmp_path).runs().to_dict("records")
    assert (free["group"], free["factors"]) == ("iperf3", "")
    assert (paced["group"], paced["factors"]) == ("iperf3-paced", '{"pacing_MBps":125.0}')
    assert paced["pacing_MBps"] == 125 and len(Results(tmp_path).cells) == 2


def test_a_study_that_stands_beside_results_stays(tmp_path):
    synthetic.foreign_file(tmp_path).rename(tmp_path / "study.yml")
    before = (tmp_path / "study.yml").read_text()
    run(BAD_FILES[0], *HOSTS, "--into", tmp_path)
    assert (tmp_path / "study.yml").read_text() == before


def test_runs_that_no_study_can_have_are_imported_and_named(tmp_path):
    for name, tuning in (("tcp", "as-found"), ("bytes", "full")):
        words = (RECORDED / f"iperf3-{name}.json", *HOSTS, "--tuning", tuning)
        assert run(*words, "--into", tmp_path).exit_code == 0
    before = (tmp_path / "study.yml").read_text()
    assert set(Results(tmp_path).cells["tuning"]) == {"as-found", "full"}
    other = ("--study-name", "old", "--sender", "c", "--receiver", "b", "--path", "a-b")
    result = run(RECORDED / "iperf3-paced.json", *other, "--into", tmp_path)
    assert result.exit_code == 4 and "no study was written" in result.stderr
    assert len(Store(tmp_path).runs()) == 3 and (tmp_path / "study.yml").read_text() == before


def test_runs_that_differ_in_what_a_group_has_once_are_in_groups_of_their_own(tmp_path):
    text = BAD_FILES[0].read_text()
    cookie = json.loads(text)["start"]["cookie"]
    for name, old, new in (("1", "", ""), ("2", '"cubic"', '"bbr"'), ("3", '"cubic"', '"mine"')):
        another = text.replace(cookie, f"{cookie[:-1]}{name}")
        (tmp_path / f"{name}.json").write_text(another.replace(old, new) if old else another)
    files = [tmp_path / f"{name}.json" for name in "123"]
    run(*files, *HOSTS, "--into", tmp_path / "out")
    run(RECORDED / "iperf2-tcp.txt", *HOSTS, *REST, "--into", tmp_path / "out")
    runs = Store(tmp_path / "out").runs()
    assert list(runs["group"]) == ["iperf3", "iperf3-bbr", "iperf3-mine", "iperf2-sent"]
    design = studies.load_stored(tmp_path / "out" / "study.yml")
    assert [group.congestion for group in design.groups] == ["cubic", "bbr", "mine", "cubic"]
    assert list(design.stacks) == ["mine"]


def test_an_imported_run_joins_no_cell_of_measured_runs_nor_of_another_tool(tmp_path):
    """Its conditions are its own, whatever `--group` says."""
    tuning = {"name": "mine", "mtus_B": [1500], "knobs": []}
    study = campaigns.study(tunings=[tuning], congestion="cubic", factors={})
    facts = campaigns.facts()
    record = open_record(study, tmp_path, facts, None)
    campaigns.write(record, facts, goodput_MBps=100.0, congestion="cubic")
    study_options = ("--study-name", study.name, "--path", "p1", "--tuning", "mine")
    hosts = ("--sender", "left", "--receiver", "middle", "--group", "one")
    for file in ("iperf3-tcp.json", "nuttcp-tcp.txt"):
        more = (*REST, "--congestion", "cubic") if file.endswith(".txt") else ()
        result = run(RECORDED / file, *study_options, *hosts, *more, "--into", tmp_path)
        assert result.exit_code == 0, result.output
    runs = Store(tmp_path).runs()
    assert set(runs.loc[runs["group"] == "one", "goodput_MBps"]) == {100.0}
    assert runs.groupby("group")["generator"].nunique().max() == 1


REFUSED = [
    ("nuttcp-tcp.txt", "--started-at 2026-11-21 --streams 1", "state it (--mtu, in Python mtu_B)"),
    ("nuttcp-tcp.txt", "--mtu 9000 --streams 1", "state it (--started-at, in Python started_at)"),
    (
        "nuttcp-tcp.txt",
        "--mtu 9000 --started-at 2026-11-21",
        "state it (--streams, in Python streams)",
    ),
    (
        "gensink-sink4.txt",
        "--mtu 9000 --started-at 2026-11-21 --streams 1",
        "state it (--measured-at, in Python measured_at)",
    ),
    ("iperf3-tcp.json", "--congestion reno", "the file says cubic, --congestion says reno"),
    ("iperf3-tcp.json", "--sender 'a b'", "a name has letters"),
    ("iperf3-tcp.json", "--started-at yesterday", "write mtime, or a time"),
    ("iperf3-tcp.json", "--started-at 9999-01-01", "the year must be"),
    ("iperf3-tcp.json", "--mtu 9", "9 is not in the range"),
    ("absent.json", "", "absent.json: cannot be read"),
    ("iperf3-killed.json", "", "iperf3-killed.json: line 148: error: the run failed"),
    ("iperf3-tcp.json iperf3-killed.json", "--strict", "killed.json: line 148: error: the run"),
    ("iperf3-tcp.json nuttcp-tcp.txt", "--strict", "state it (--streams"),
]


@pytest.mark.parametrize(("names", "options", "said"), REFUSED)
def test_what_cannot_be_imported_is_an_error_and_writes_nothing(tmp_path, names, options, said):
    files, into = [RECORDED / name for name in names.split()], tmp_path / "into"
    result = run(*files, *HOSTS, *shlex.split(options), "--into", into)
    assert result.exit_code == 2 and said in result.output
    assert not into.exists()


def test_the_same_content_is_imported_once_and_is_skipped_later(tmp_path):
    copy, into = tmp_path / "copy.json", tmp_path / "into"
    copy.write_bytes((RECORDED / "iperf3-tcp.json").read_bytes())
    result = run(RECORDED / "iperf3-tcp.json", copy, *HOSTS, "--into", into)
    assert result.exit_code == 4 and "has the same content as" in result.output
    before = Store(into).runs()
    result = run(RECORDED / "iperf3-tcp.json", *HOSTS, "--into", into)
    assert result.exit_code == 0 and "imported before" in result.output
    assert len(before) == 1 and Store(into).runs().equals(before)


@pytest.mark.parametrize("order", [["c.json", "s.json"], ["s.json", "c.json"]])
def test_a_test_that_both_ends_reported_counts_once(tmp_path, order):
    """The client's report has the receiver's count and the MTU; the server's has no MTU."""
    ends = {"c.json": "iperf3-study-client.json", "s.json": "iperf3-study-server.json"}
    for name, recorded in ends.items():
        (tmp_path / name).write_bytes((RECORDED / recorded).read_bytes())
    into, files = tmp_path / "into", [tmp_path / name for name in order]
    result = run(*files, *HOSTS, "--mtu", "9000", "--into", into)
    assert result.exit_code == 4
    assert f"the same test as in {tmp_path / 'c.json'}: line 1, which counts once" in result.output
    (row,) = Store(into).runs().to_dict("records")
    assert imported(row)["file"] == "c.json" and row["goodput_MBps"] > 0


def test_the_server_s_report_of_an_imported_test_is_refused_another_day(tmp_path):
    run(RECORDED / "iperf3-study-client.json", *HOSTS, "--into", tmp_path)
    late = run(RECORDED / "iperf3-study-server.json", *HOSTS, "--mtu", "9000", "--into", tmp_path)
    assert late.exit_code == 2, late.output
    assert "iperf3-study-client.json: line 1, which counts once" in late.output
    assert len(Store(tmp_path).runs()) == 1


def test_where_the_client_s_report_cannot_be_imported_the_server_s_is(tmp_path):
    """The client says a path MTU of 9000 B; the server says none."""
    files = [RECORDED / f"iperf3-study-{end}.json" for end in ("client", "server")]
    result = run(*files, *HOSTS, "--mtu", "1500", "--into", tmp_path)
    assert result.exit_code == 4
    (row,) = Store(tmp_path).runs().to_dict("records")
    assert imported(row)["file"] == "iperf3-study-server.json"


@pytest.mark.parametrize(
    "name", ["iperf3-tcp.json", "flent-upload.flent.gz", "iperf3-text-bidir.txt"]
)
def test_a_copy_with_other_white_space_counts_once(tmp_path, name):
    """Such as one that went through a mail, an editor, or a log that was collected twice."""
    content = (RECORDED / name).read_bytes()
    content = gzip.decompress(content) if name.endswith(".gz") else content
    (tmp_path / "a").write_bytes(content)
    (tmp_path / "b").write_bytes(content.replace(b"\n", b"\r\n") + b"\r\n")
    into = tmp_path / "into"
    result = run(tmp_path / "a", tmp_path / "b", *HOSTS, "--mtu", "9000", "--into", into)
    assert result.exit_code == 4 and "which counts once" in result.output
    assert len(Store(into).runs()) == 1


def test_repeats_of_a_cell_count_on_from_import_to_import(tmp_path):
    facts = Facts("old", "a", "b")
    for index, name in enumerate(["iperf3-tcp.json", "iperf3-bytes.json"], start=1):
        done = import_files([RECORDED / name], facts, tmp_path)
        assert done.run_ids == (f"imported@a-b@unknown@9000@iperf3@->@1@{index}",)
    assert list(Store(tmp_path).runs()["round"]) == [1, 2]


def test_runs_the_other_way_are_not_mixed(tmp_path):
    files = [RECORDED / "iperf3-tcp.json", RECORDED / "iperf3-reverse.json"]
    with refused(BadInput, "E-IMPORT-002", match="the direction of the data"):
        import_files(files, Facts("old", "a", "b"), tmp_path, strict=True)


def test_runs_of_both_ways_in_one_file_have_each_its_sender(tmp_path):
    when = ("--started-at", "2026-11-29", "--mtu", "1500")
    result = run(RECORDED / "iperf2-tradeoff.txt", *HOSTS, *when, "--into", tmp_path)
    assert result.exit_code == 0, result.output
    rows = Store(tmp_path).runs()
    assert len(set(rows["sender"])) == 2 and len(set(rows["path"])) == 1
    assert list(rows["sender"]) == list(reversed(list(rows["receiver"])))
    assert rows["sent_MBps"].notna().tolist() == [True, False]
    assert rows["goodput_MBps"].notna().tolist() == [False, True]


def test_a_directory_is_all_its_files(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text(IPERF2_2010)
    (tmp_path / "in" / "2.txt").write_text(RAPID)
    when = ("--started-at", "2010-01-01", "--mtu", "9000")
    result = run(tmp_path / "in", *HOSTS, *when, "--into", tmp_path / "out")
    assert result.exit_code == 0, result.output
    runs = Store(tmp_path / "out").runs()
    assert list(runs["group"]) == ["iperf2-sent", "iperf2-sent", "rapid"]
    assert list(runs["sent_MBps"].dropna()) == pytest.approx([48.75, 119.375])
    assert list(runs["goodput_MBps"].dropna()) == pytest.approx([2185.476 / 8])
    results = Results(tmp_path / "out")
    cells = results.cells.set_index("group")
    assert cells.loc["iperf2-sent", "disturbed"] == "sender_only"
    assert cells["goodput_MBps"].dropna().index.tolist() == ["rapid"]
    assert cells.loc["iperf2-sent", "disturbed_MBps"] == pytest.approx((48.75 + 119.375) / 2)
    advice = {one.kind: one.command for one in gate(results.measured)}
    assert advice[FLAGGED_CELLS] == advice[FLAGGED] == "netlab import --help"
    assert runs["started_at"].dt.year.tolist() == [2010, 2010, 2003]
    assert list(runs["congestion"].unique()) == ["unknown"]


def test_bytes_that_the_sender_counted_are_sent_bytes(tmp_path):
    given = ("--into", tmp_path, *REST[:4])
    run(RECORDED / "gensink-gen4.txt", *HOSTS, *given, "--measured-at", "sender")
    (row,) = Store(tmp_path).runs().to_dict("records")
    assert row["sent_B"] == 6373510000 and imported(row)["measured_at"] == "sender"
    assert Store(tmp_path).runs()["received_B"].isna().all()


@pytest.mark.parametrize(
    ("mss_B", "expected"),
    [(1448, (1500, 52)), (1460, (1500, 40)), (8948, (9000, 52)), (1440, None), (32741, None)],
)
def test_an_mtu_is_taken_from_a_segment_size_only_where_it_is_clear(mss_B, expected):
    assert mtu_of(mss_B) == expected


def test_a_file_name_adds_no_line_and_no_escape_to_a_table_or_an_error(tmp_path):
    content = (RECORDED / "iperf3-tcp.json").read_text()
    names = ("a\nb\x1b[2J\u202e.json", "c\nd.json", "e\nf.txt")
    for name, text in zip(names, (content, content, "nothing"), strict=True):
        (tmp_path / name).write_text(text)
    result = run(tmp_path, *HOSTS, "--into", tmp_path / "results")
    assert result.exit_code == 4
    table = result.stderr.splitlines()[:4]
    assert [line.split()[0].rpartition("/")[2] for line in table] == [
        "file", r"a\nb\x1b[2J\u202e.json", r"c\nd.json", r"e\nf.txt",
    ]  # fmt: skip
    assert result.stderr.isascii() and "\x1b" not in result.output
    for line in result.stderr.splitlines():
        assert line.startswith((str(tmp_path), "file", "netlab: ")), line
    alone = run(tmp_path / names[2], *HOSTS, "--into", tmp_path / "results")
    assert r"e\nf.txt: " in alone.stderr and len(alone.stderr.splitlines()) == 1


def test_a_damaged_part_with_a_line_break_in_its_name_is_named_on_one_line(tmp_path):
    run(RECORDED / "iperf3-tcp.json", *HOSTS, "--into", tmp_path)
    (tmp_path / "runs" / "x\ny\x1b[2J.parquet").write_text("no Parquet")
    with pytest.warns(Damaged) as caught:
        Store(tmp_path).runs()
    assert r"x\ny\x1b[2J.parquet cannot be read" in str(caught[0].message)
    repaired = CliRunner().invoke(results_group, ["repair", str(tmp_path)])
    assert repaired.stdout.splitlines() == [
        r"runs/x\ny\x1b[2J.parquet -> x\ny\x1b[2J.parquet.damaged"
    ]
