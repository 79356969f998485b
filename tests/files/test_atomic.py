"""A file is replaced as a whole or not at all, and nothing else is left beside it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from netlab.files.writing import replaced, write_json, write_text

TOO_LARGE = """
import resource, sys
from pathlib import Path
from netlab.files.writing import write_text
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_text(Path(sys.argv[1]), "new" * 1000)
except OSError as error:
    print(error.filename)
    raise
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    return path


def test_the_old_content_is_there_until_the_new_one_is_complete(file):
    with replaced(file) as partial:
        partial.write_text("ne")
        assert file.read_text() == "old"
        partial.write_text("new")
    assert file.read_text() == "new" and os.listdir(file.parent) == ["file"]


def test_a_missing_directory_is_made(tmp_path):
    path = tmp_path / "a" / "b" / "c.json"
    assert write_json(path, {"x": float("nan")}) == path
    assert path.read_text() == '{\n "x": null\n}\n'


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_no_other(file, error):
    with pytest.raises(error), replaced(file) as partial:
        partial.write_text("ne")
        raise error
    assert file.read_text() == "old" and os.listdir(file.parent) == ["file"]


def test_text_that_cannot_be_encoded_or_has_no_room_leaves_the_old_file_and_no_other(file):
    with pytest.raises(UnicodeEncodeError):
        write_text(file, "\ud800")
    assert file.read_text() == "old" and os.listdir(file.parent) == ["file"]
    command = (sys.executable, "-c", TOO_LARGE, str(file))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "File too large" in done.stderr and done.stdout == f"{file}\n"
    assert file.read_text() == "old" and os.listdir(file.parent) == ["file"]


def test_a_file_does_not_take_the_place_of_a_directory(tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path / "there", "x")
    assert os.listdir(tmp_path) == ["there"]


def test_a_durable_file_is_flushed_before_it_takes_its_place_and_its_directory_after(
    file, monkeypatch
):
    steps = []
    flush, replace = os.fsync, os.replace

    def flushed(descriptor):
        steps.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        flush(descriptor)

    def moved(source, target):
        steps.append((str(source), str(target)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", moved)
    write_text(file, "new", durable=True)
    (partial, target), steps[1:2] = steps[1], []
    assert target == str(file) and steps == [partial, str(file.parent)]
    write_text(file, "newer")
    assert len(steps) == 3
