"""Imports from a notebook take relative paths as all calls do, and write nothing if refused."""

from __future__ import annotations

import pytest

import netlab
from netlab.errors import BadInput, NetlabError
from netlab.files.paths import example

SIDES = {"sender": "left", "receiver": "right"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A directory with notebooks, in which the kernel of one runs."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path


def test_relative_paths_start_above_the_notebooks(home):
    (home / "files").symlink_to(example("two-stacks"))
    found = netlab.import_files("files", study="two-stacks", results="mine", **SIDES)
    assert len(found.results.runs) == 25
    assert len(netlab.Results("mine").runs) == 25
    assert sorted(place.name for place in home.iterdir()) == ["files", "mine", "notebooks"]
    assert not any((home / "notebooks").iterdir())


@pytest.mark.parametrize(
    "facts",
    [
        {"study": "x" * 80, **SIDES},
        {"study": "two-stacks", "tuning": "a b", **SIDES},
        {"study": "two-stacks", "sender": "left", "receiver": "left"},
        {"study": "two-stacks", "mtu_B": 7, **SIDES},
    ],
    ids=["name", "tuning", "hosts", "mtu"],
)
def test_a_refused_import_writes_nothing(home, facts):
    with pytest.raises((BadInput, NetlabError)):
        netlab.import_files("two-stacks", results="mine/below", **facts)
    assert [place.name for place in home.iterdir()] == ["notebooks"]


def test_a_refused_import_leaves_results_as_they_were(home):
    netlab.import_files("two-stacks", study="two-stacks", results="mine", link_Mbps=200, **SIDES)
    before = {p: p.read_bytes() for p in (home / "mine").rglob("*") if p.is_file()}
    (home / "again.json.gz").write_bytes(b"not gzip")
    with pytest.raises(NetlabError):
        netlab.import_files("again.json.gz", study="two-stacks", results="mine", **SIDES)
    assert {p: p.read_bytes() for p in (home / "mine").rglob("*") if p.is_file()} == before
