"""A lock says which process has it, and is free when that process is gone."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from netlab.errors import NetlabError
from netlab.experiment.campaign_record import exclusive
from netlab.files.locks import take

KEEP = "import os, sys; sys.path.insert(0, {root!r}); from netlab.files.locks import take; "
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
