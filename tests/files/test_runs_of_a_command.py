"""Runs of a command are stored one beside another, and read the latest first."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from netlab.files.dated import documents, new_directory
from netlab.files.writing import write_json

AT = "2026-01-05T10:00:00Z"


def save(parent: Path, started_at: str, **content: object) -> Path:
    place = new_directory(parent, started_at)
    return write_json(place / "x.json", {"started_at": started_at, **content}, durable=True)


def test_runs_of_the_same_second_do_not_share_a_directory(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        places = set(pool.map(lambda _: new_directory(tmp_path, AT), range(24)))
    assert tmp_path / "2026-01-05T100000Z" in places
    assert len(places) == 24 and all(place.is_dir() for place in places)


def test_the_latest_run_is_first_and_the_later_of_a_second_before_the_earlier(tmp_path):
    for number in range(11):
        save(tmp_path, AT, number=number)
    save(tmp_path, "2026-01-04T23:00:00Z", number=-1)
    save(tmp_path, "2026-01-05T10:00:01Z", number=11)
    found, damaged = documents(tmp_path, "x.json")
    assert [one.content["number"] for one in found] == list(range(11, -2, -1))
    assert damaged == []


def test_a_file_of_an_older_version_is_read_at_its_date(tmp_path):
    (tmp_path / "x.json").write_text(json.dumps({"started_at": AT, "number": 0}))
    save(tmp_path, "2026-01-04T10:00:00Z", number=1)
    save(tmp_path, "2026-01-06T10:00:00Z", number=2)
    found, _ = documents(tmp_path, "x.json")
    assert [one.content["number"] for one in found] == [2, 0, 1]


@pytest.mark.parametrize(
    "bad", [b"", b"{", b"[1]", b"{}", b'{"started_at": 3}', b"\xff", b"[" * 100_000]
)
def test_a_damaged_document_is_named_and_hides_no_other(tmp_path, bad):
    good = save(tmp_path, AT)
    place = new_directory(tmp_path, "2026-01-06T10:00:00Z")
    (place / "x.json").write_bytes(bad)
    found, damaged = documents(tmp_path, "x.json")
    assert [one.file for one in found] == [good]
    assert damaged == [place / "x.json"]


def test_other_files_and_runs_without_a_document_are_neither_found_nor_damaged(tmp_path):
    new_directory(tmp_path, AT)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "x.json").write_text("{}")
    assert documents(tmp_path, "x.json") == ([], [])
    assert documents(tmp_path / "nowhere", "x.json") == ([], [])
