"""A file is replaced as a whole or not at all, and nothing else is left beside it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from netlab.errors import NetlabError
from netlab.experiment.campaign import exclusive
from netlab.files.writing import (
    documents,
    interrupts_wait,
    new_directory,
    replaced,
    take,
    write_json,
    write_text,
)

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


# Runs of a command are stored one beside another, and read the latest first.

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


# A signal waits for the end of a block.


def test_an_interrupt_waits_for_the_end_of_the_block():
    seen = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            seen.append("after the signal")
        seen.append("after the block")
    assert seen == ["after the signal"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_is_told_even_if_the_block_fails():
    with pytest.raises(KeyboardInterrupt) as raised, interrupts_wait():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("of the block")
    assert str(raised.value.__context__) == "of the block"


def test_a_signal_keeps_its_own_handler():
    numbers = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: numbers.append(number))
    try:
        with interrupts_wait():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            assert numbers == []
        assert numbers == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_block_in_a_block_waits_for_the_outer_one():
    seen = []
    with pytest.raises(KeyboardInterrupt), interrupts_wait():
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
        seen.append("after the inner block")
    assert seen == ["after the inner block"]


def test_in_another_thread_the_handlers_stay():
    found = []

    def look() -> None:
        with interrupts_wait():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


# A lock says which process has it, and is free when that process is gone.

KEEP = "import os, sys; sys.path.insert(0, {root!r}); from netlab.files.writing import take; "
KEEP += "print(take(os.open({path!r}, os.O_RDWR | os.O_CREAT)), flush=True); input()"


def locked_by_another(path):
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    process = subprocess.Popen(
        [sys.executable, "-c", KEEP.format(root=root, path=str(path))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "None\n"
    return process


def test_the_holder_is_named_and_a_dead_one_is_not_in_the_way(tmp_path):
    path = tmp_path / "lock"
    other = locked_by_another(path)
    lock = os.open(path, os.O_RDWR)
    text = rf"process {other.pid} of user \S+ since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    assert re.fullmatch(text, take(lock))
    other.kill()
    other.communicate()
    assert take(lock) is None
    assert path.read_text().startswith(f"process {os.getpid()} of user ")
    os.close(lock)


def test_text_of_a_lock_cannot_reach_the_terminal_as_control_characters(tmp_path):
    path = tmp_path / "lock"
    other = locked_by_another(path)
    path.write_bytes(b"\x1b[2Jprocess \xff 1")
    lock = os.open(path, os.O_RDWR)
    assert "\x1b" not in take(lock)
    other.kill()
    other.communicate()
    os.close(lock)


def test_a_second_campaign_is_refused_with_the_holder_of_the_results(tmp_path):
    with exclusive(tmp_path), pytest.raises(NetlabError) as caught, exclusive(tmp_path):
        pass
    assert caught.value.code == "E-RUN-002"
    assert f"process {os.getpid()} of user " in str(caught.value)
    with exclusive(tmp_path):
        assert (tmp_path / ".lock").exists()
