"""A temporary directory lives as long as its process; the next start removes an abandoned one."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile

import pytest

from netlab.files.scratch_directory import remove_abandoned, scratch

KEEP = "from netlab.files.scratch_directory import scratch\n"
KEEP += "import sys, time; from pathlib import Path\n"
KEEP += (
    "with scratch('t', *map(Path, sys.argv[1:])) as path: print(path, flush=True); time.sleep(60)"
)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def another(place, *beside):
    process = subprocess.Popen(
        [sys.executable, "-c", KEEP, *beside],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    return process, process.stdout.readline().strip()


def test_a_directory_is_private_and_goes_with_its_content():
    with scratch("t") as path:
        assert path.name.startswith("netlab-t-") and path.stat().st_mode & 0o777 == 0o700
        (path / "file").write_text("x")
    assert not path.exists()


def test_the_directory_of_a_killed_process_is_removed_by_the_next_start(place):
    process, left = another(place)
    with scratch("t"):
        assert os.path.isdir(left)  # its process lives
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert os.path.isdir(left)
    with scratch("t") as path:
        assert os.listdir(place) == [path.name]
    assert os.listdir(place) == []


def test_what_a_killed_process_left_beside_a_directory_is_removed_by_the_next_start(place):
    """Not what is hidden there for another purpose or another directory."""
    for name in ("site", ".site.mine", ".site-2.netlab-t-x", ".site.netlab-x", "netlab-t-x"):
        (place / name).mkdir(mode=0o700)
    others = set(os.listdir(place))
    process, left = another(place, place / "site")
    with scratch("t", beside=place / "site") as path:
        assert path.parent == place and path.name.startswith(".site.netlab-t-")
        assert os.path.isdir(left)  # its process lives
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with scratch("t", beside=place / "site"):
        assert not os.path.isdir(left)
    assert set(os.listdir(place)) == others


def test_a_file_system_without_locks_has_directories_too(place, monkeypatch):
    def refused(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    with scratch("t") as first, scratch("t") as second:
        assert first.is_dir() and second.is_dir() and first != second
    assert os.listdir(place) == []


@pytest.mark.parametrize("moment", ["open", "flock"])
def test_a_start_survives_another_that_removes_its_new_directory(place, monkeypatch, moment):
    """The other start comes just before this call, when the directory is not locked yet."""
    module = os if moment == "open" else fcntl
    call, removed = getattr(module, moment), []

    def late(*args):
        if not removed:
            removed.extend(os.listdir(place))
            monkeypatch.undo()
            monkeypatch.setattr(tempfile, "tempdir", str(place))
            remove_abandoned(place, "netlab-t-")
        return call(*args)

    monkeypatch.setattr(module, moment, late)
    with scratch("t") as path:
        assert len(removed) == 1 and removed != [path.name]
        assert os.listdir(place) == [path.name]
    assert os.listdir(place) == []


def test_many_starts_at_once_have_a_directory_each(place):
    """Each start looks for abandoned directories while others make theirs."""
    forked = multiprocessing.get_context("fork")
    together = forked.Barrier(4)
    workers = [forked.Process(target=starts, args=(together, 300)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert os.listdir(place) == []


def starts(together, count):
    together.wait()
    for _ in range(count):
        with scratch("t") as path:
            (path / "file").touch()
            assert os.listdir(path) == ["file"]


def test_links_and_directories_that_others_can_enter_stay(place, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "precious").touch()
    (place / "netlab-t-link").symlink_to(elsewhere)
    (place / "netlab-t-open").mkdir(mode=0o755)
    (place / "netlab-other-x").mkdir(mode=0o700)
    with scratch("t"):
        pass
    assert sorted(os.listdir(place)) == ["netlab-other-x", "netlab-t-link", "netlab-t-open"]
    assert (elsewhere / "precious").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make another user's directory")
def test_the_directory_of_another_user_stays(place):
    other = place / "netlab-t-other"
    other.mkdir(mode=0o700)
    os.chown(other, 65534, 65534)
    with scratch("t"):
        pass
    assert other.exists()
