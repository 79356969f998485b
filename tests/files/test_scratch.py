"""A temporary directory lives as long as its process; the next start removes an abandoned one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from netlab.files.scratch import Scratch

KEEP = "from netlab.files.scratch import Scratch; import time\n"
KEEP += "with Scratch('t') as path: print(path, flush=True); time.sleep(60)"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def another(place):
    process = subprocess.Popen(
        [sys.executable, "-c", KEEP],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    return process, process.stdout.readline().strip()


def test_a_directory_is_private_and_goes_with_its_content():
    with Scratch("t") as path:
        assert path.name.startswith("netlab-t-") and path.stat().st_mode & 0o777 == 0o700
        (path / "file").write_text("x")
    assert not path.exists()


def test_the_directory_of_a_killed_process_is_removed_by_the_next_start(place):
    process, left = another(place)
    with Scratch("t"):
        assert os.path.isdir(left)  # its process lives
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert os.path.isdir(left)
    with Scratch("t") as path:
        assert os.listdir(place) == [path.name]
    assert os.listdir(place) == []


def test_links_and_directories_that_others_can_enter_stay(place, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "precious").touch()
    (place / "netlab-t-link").symlink_to(elsewhere)
    (place / "netlab-t-open").mkdir(mode=0o755)
    (place / "netlab-other-x").mkdir(mode=0o700)
    with Scratch("t"):
        pass
    assert sorted(os.listdir(place)) == ["netlab-other-x", "netlab-t-link", "netlab-t-open"]
    assert (elsewhere / "precious").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make another user's directory")
def test_the_directory_of_another_user_stays(place):
    other = place / "netlab-t-other"
    other.mkdir(mode=0o700)
    os.chown(other, 65534, 65534)
    with Scratch("t"):
        pass
    assert other.exists()
