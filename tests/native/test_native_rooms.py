"""The rooms of the C core: includes point one way, and no source escapes list or digest."""

from __future__ import annotations

import graphlib
import re
import sys
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
SOURCES = NATIVE / "src"
INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)
# Headers outside the rooms: the public one, and two that the build generates.
ROOMLESS = {"netlab.h", "nl_digest.h"}

BELOW: dict[str, set[str]] = {
    "base": set(),
    "net": {"base"},
    "io": {"base", "net"},
    "meter": {"base", "net"},
    "run": {"base", "net", "io", "meter"},
    "tune": {"base", "net"},
    "emulator": {"base"},
    "congestion": {"base"},
    "agent": {"base", "meter", "run"},
    "cli": {"base", "net", "io", "meter", "run"},
}
"""Room -> the rooms whose headers its files may include."""


def files() -> list[Path]:
    return sorted(SOURCES.rglob("*.[ch]"))


def room_of(path: Path) -> str:
    """The first folder below src; empty for main.c."""
    parts = path.relative_to(SOURCES).parts
    return parts[0] if len(parts) > 1 else ""


def included(path: Path) -> set[str]:
    """Headers in quotes, without those that belong to no room."""
    return set(INCLUDE.findall(path.read_text())) - ROOMLESS


def test_the_rooms_are_those_of_the_table():
    assert {room_of(path) for path in files()} == {*BELOW, ""}
    assert [path.name for path in files() if room_of(path) == ""] == ["main.c"]


def test_the_table_has_no_cycle():
    tuple(graphlib.TopologicalSorter(BELOW).static_order())


@pytest.mark.parametrize("room", BELOW)
def test_a_room_includes_only_rooms_below(room):
    wrong = [
        f"{path.relative_to(SOURCES)} includes {header}"
        for path in files()
        if room_of(path) == room
        for header in sorted(included(path))
        if header.partition("/")[0] not in BELOW[room] | {room}
    ]
    assert wrong == []


def test_an_include_names_the_room_and_an_existing_header():
    wrong = [
        f"{path.relative_to(SOURCES)} includes {header}"
        for path in files()
        for header in sorted(included(path))
        if "/" not in header or not (SOURCES / header).is_file()
    ]
    assert wrong == []


def test_no_header_is_included_in_a_circle():
    headers = [path for path in files() if path.suffix == ".h"]
    graph = {path.relative_to(SOURCES).as_posix(): included(path) for path in headers}
    tuple(graphlib.TopologicalSorter(graph).static_order())


def test_every_source_file_is_listed():
    listed = [
        line.split()[1]
        for line in (NATIVE / "sources.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    compiled = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.c")
        if not path.name.endswith(".bpf.c")
    }
    assert sorted(compiled - {"main.c"}) == sorted(listed)


@pytest.fixture
def digest_of(monkeypatch):
    """cmake/digest.py's source_digest()."""
    monkeypatch.syspath_prepend(NATIVE / "cmake")
    monkeypatch.delitem(sys.modules, "digest", raising=False)
    from digest import source_digest

    return source_digest


def test_a_change_of_any_source_changes_the_digest(digest_of, tmp_path):
    names = [*files(), *(NATIVE / "include").rglob("*.h"), NATIVE / "sources.txt"]
    for path in names:
        copy = tmp_path / path.relative_to(NATIVE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    unchanged = digest_of(tmp_path)
    assert unchanged == digest_of(NATIVE)
    unnoticed = []
    for path in names:
        copy = tmp_path / path.relative_to(NATIVE)
        before = copy.read_bytes()
        copy.write_bytes(before + b" ")
        if digest_of(tmp_path) == unchanged:
            unnoticed.append(path)
        copy.write_bytes(before)
    assert unnoticed == []


@pytest.mark.parametrize("name", ["src/new.c", "src/tune/new.h", "src/tune/deep/er/new.c"])
def test_a_new_source_at_any_depth_changes_the_digest(digest_of, tmp_path, name):
    (tmp_path / "sources.txt").touch()
    before = digest_of(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
    assert digest_of(tmp_path) != before


def test_a_moved_source_changes_the_digest(digest_of, tmp_path):
    (tmp_path / "sources.txt").touch()
    (tmp_path / "src" / "a").mkdir(parents=True)
    (tmp_path / "src" / "a" / "x.c").touch()
    before = digest_of(tmp_path)
    (tmp_path / "src" / "a").rename(tmp_path / "src" / "b")
    assert digest_of(tmp_path) != before
