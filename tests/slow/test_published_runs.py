"""Files of others in a notebook: those that cannot be right are named and left out."""

from __future__ import annotations

import pytest
from notebook_page import executed_page

import netlab
from netlab.errors import BadInput
from netlab.files.paths import data_dir

SIDES = {"study": "other", "sender": "left", "receiver": "right"}


def test_what_cannot_be_right_is_named_and_left_out(tmp_path):
    found = netlab.import_files("two-stacks", link_Mbps=200, results=tmp_path / "r", **SIDES)
    frame = found.frame.set_index("file")
    wrong = frame[frame["problem"] != ""]
    assert len(frame) == 29 and frame["runs"].sum() == 25
    for name, runs, words in (
        ("cubic-16-streams-5", 0, "intervals sum to"),
        ("cubic-4-streams-5", 0, "do not agree"),
        ("reno-1-streams-5", 1, "the link carries 24.1 MB/s of payload at most"),
        ("reno-4-streams-5", 0, "not JSON"),
    ):
        row = wrong.loc[f"{name}.json.gz"]
        assert row["runs"] == runs and words in row["problem"]
    assert set(wrong.index) - {"README.md"} == {n for n in frame.index if "-5." in n}
    assert found.results.cells["mean"].max() < 24.1
    # without a rate of the link only contradictions within a file are seen
    without = netlab.import_files("two-stacks", results=tmp_path / "without", **SIDES)
    assert (without.frame["problem"] != "").sum() == 4
    assert without.results.cells["mean"].max() > 24.1
    again = netlab.import_files("two-stacks", link_Mbps=200, results=tmp_path / "r", **SIDES)
    assert again.frame["runs"].sum() == 25 and str(again) == str(found)


def test_files_of_one_name_are_told_apart(tmp_path):
    for number, name in enumerate(("cubic-1-streams-1", "reno-1-streams-5")):
        place = tmp_path / "files" / f"try{number}" / "out.json.gz"
        place.parent.mkdir(parents=True)
        place.write_bytes((data_dir() / "examples/two-stacks" / f"{name}.json.gz").read_bytes())
    found = netlab.import_files(tmp_path / "files", link_Mbps=200, results=tmp_path / "r", **SIDES)
    assert found.frame["runs"].tolist() == [1, 1]
    assert [bool(text) for text in found.frame["problem"]] == [False, True]


def test_the_notebook_reads_doubts_and_compares(tmp_path):
    page = executed_page("22-published-runs", tmp_path, results=tmp_path / "r")
    for words in ("24 of 29 files can be right", "24.1 MB/s of payload", "cannot tell"):
        assert words in page
    assert page.count("<table") >= 4 and (tmp_path / "r" / "study.yml").is_file()


@pytest.mark.parametrize(
    ("directory", "facts", "words"),
    [("nowhere", {}, "nowhere"), ("two-stacks", {"mtu": 1500}, "mtu")],
)
def test_a_wrong_call_is_refused(directory, facts, words, tmp_path):
    with pytest.raises(BadInput, match=words):
        netlab.import_files(directory, results=tmp_path / "r", **SIDES, **facts)
