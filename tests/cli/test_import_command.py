"""`netlab import`: all files or none, once, without invented values."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from refusals import refused
from results.imports.samples import ACCEPTED, IPERF2_2010, RAPID, RECORDED

from netlab.cli.import_results import import_command
from netlab.errors import BadInput
from netlab.results import Store
from netlab.results.imports.batch import import_files
from netlab.results.imports.rows import Facts, mtu_of

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


def test_every_recorded_file_becomes_a_row(tmp_path):
    silent = [
        n for n in ACCEPTED if n.startswith("nuttcp-") and not re.search("verbose|bytes|study", n)
    ]
    towards = [n for n in ACCEPTED if re.search("reverse|flent-down", n)]
    rest = [n for n in ACCEPTED if n not in silent and n not in towards]
    for names, sender, receiver, streams in (
        (silent, "a", "b", 1),
        (towards, "b", "a", None),
        (rest, "a", "b", None),
    ):
        facts = Facts(
            "old",
            sender,
            receiver,
            mtu_B=9000,
            started_at="mtime",
            streams=streams,
            measured_at="receiver" if names is rest else None,
        )
        import_files([RECORDED / name for name in names], facts, tmp_path)
    runs = Store(tmp_path).runs()
    assert len(runs) == len(ACCEPTED) == runs["run_id"].nunique()
    assert list(runs["order"]) == list(range(len(ACCEPTED)))
    assert runs["goodput_MBps"].notna().all() and (runs["direction"] == "<->").sum() == 4


def test_one_bad_file_keeps_all_out(tmp_path):
    files = [RECORDED / "iperf3-tcp.json", RECORDED / "iperf3-killed.json"]
    result = run(*files, *HOSTS, "--into", tmp_path / "into")
    assert result.exit_code == 2
    assert "iperf3-killed.json: line 148: error: the run failed" in result.output
    assert not (tmp_path / "into").exists()


def test_a_missing_fact_keeps_all_out(tmp_path):
    files = [RECORDED / "iperf3-tcp.json", RECORDED / "nuttcp-tcp.txt"]
    result = run(*files, *HOSTS, "--into", tmp_path)
    assert result.exit_code == 2 and "use --streams" in result.output
    assert Store(tmp_path).runs().empty


@pytest.mark.parametrize(
    ("name", "lacking", "option"),
    [
        ("nuttcp-tcp.txt", "--mtu", "--mtu"),
        ("nuttcp-tcp.txt", "--started-at", "--started-at"),
        ("nuttcp-tcp.txt", "--streams", "--streams"),
        ("gensink-sink4.txt", "", "--measured-at"),
    ],
)
def test_a_value_that_a_file_lacks_is_requested_by_its_option(tmp_path, name, lacking, option):
    pairs = zip(REST[::2], REST[1::2], strict=True)
    given = [word for pair in pairs if pair[0] != lacking for word in pair]
    result = run(RECORDED / name, *HOSTS, *given, "--into", tmp_path)
    assert result.exit_code == 2 and f"use {option}" in result.output


def test_a_fact_that_the_file_contradicts_is_refused(tmp_path):
    result = run(RECORDED / "iperf3-tcp.json", *HOSTS, "--congestion", "reno", "--into", tmp_path)
    assert result.exit_code == 2
    assert "the file says cubic, --congestion says reno" in result.output


def test_a_second_import_of_a_file_is_skipped(tmp_path):
    words = (RECORDED / "iperf3-tcp.json", *HOSTS, "--into", tmp_path)
    run(*words)
    before = Store(tmp_path).runs()
    result = run(*words)
    assert result.exit_code == 0 and "imported before" in result.output
    assert Store(tmp_path).runs().equals(before)


def test_the_same_content_twice_in_one_import_is_refused(tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_bytes((RECORDED / "iperf3-tcp.json").read_bytes())
    result = run(RECORDED / "iperf3-tcp.json", copy, *HOSTS, "--into", tmp_path / "into")
    assert result.exit_code == 2 and "has the same content as" in result.output


def test_repeats_of_a_cell_count_on_from_import_to_import(tmp_path):
    facts = Facts("old", "a", "b")
    for index, name in enumerate(["iperf3-tcp.json", "iperf3-bytes.json"], start=1):
        done = import_files([RECORDED / name], facts, tmp_path)
        assert done.run_ids == (f"imported@a-b@unknown@9000@iperf3@->@1@{index}",)
    assert list(Store(tmp_path).runs()["round"]) == [1, 2]


def test_runs_the_other_way_are_not_mixed(tmp_path):
    files = [RECORDED / "iperf3-tcp.json", RECORDED / "iperf3-reverse.json"]
    with refused(BadInput, "E-IMPORT-002", match="the direction of the data"):
        import_files(files, Facts("old", "a", "b"), tmp_path)


def test_a_directory_is_all_its_files(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text(IPERF2_2010)
    (tmp_path / "in" / "2.txt").write_text(RAPID)
    when = ("--started-at", "2010-01-01", "--mtu", "9000")
    result = run(tmp_path / "in", *HOSTS, *when, "--into", tmp_path / "out")
    assert result.exit_code == 0, result.output
    runs = Store(tmp_path / "out").runs()
    assert list(runs["group"]) == ["iperf2", "iperf2", "rapid"]
    assert list(runs["goodput_MBps"]) == pytest.approx([48.75, 119.375, 2185.476 / 8])
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


@pytest.mark.parametrize(
    "words",
    [
        ("--sender", "a b"),
        ("--started-at", "yesterday"),
        ("--mtu", "9"),
        ("--started-at", "9999-01-01"),
    ],
)
def test_a_bad_option_is_bad_input(tmp_path, words):
    result = run(RECORDED / "iperf3-tcp.json", *HOSTS, *words, "--into", tmp_path)
    assert result.exit_code == 2


def test_a_file_that_is_not_there_is_bad_input(tmp_path):
    result = run(Path("absent.json"), *HOSTS, "--into", tmp_path)
    assert result.exit_code == 2 and "absent.json: cannot be read" in result.output
