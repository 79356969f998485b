"""A command that hangs is ended, and the error has the stacks of its threads and its children."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.e2e import stacks

HANGS = """
import subprocess, sys, time
def waits_for_ever():
    print("up", flush=True)
    time.sleep(60)
if len(sys.argv) > 1:
    subprocess.Popen([sys.executable, "-c", sys.argv[1]])
waits_for_ever()
"""


def test_the_stacks_of_a_process_and_of_those_below_it_are_read(monkeypatch):
    monkeypatch.setenv("PYTHONFAULTHANDLER", "1")
    process = subprocess.Popen(
        (sys.executable, "-c", HANGS, HANGS),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert [process.stdout.readline() for _ in range(2)] == ["up\n", "up\n"]
        assert len(stacks.below(process.pid)) == 2
        said = stacks.dumped(process.pid)
        assert process.wait(10) == -6
    assert said.count("in waits_for_ever") == 2 and said.count("--- process ") == 2


def test_a_command_that_takes_too_long_is_an_error_with_its_stacks(monkeypatch):
    from tests.e2e import conftest

    monkeypatch.setattr(conftest, "NETLAB", (sys.executable, "-c", HANGS))
    began_s = time.monotonic()
    with pytest.raises(AssertionError, match="not over after 2 s") as raised:
        conftest.run_netlab(timeout_s=2)
    assert "in waits_for_ever" in str(raised.value)
    assert time.monotonic() - began_s < 20
