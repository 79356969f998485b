"""A line process sends words, takes JSON lines, and says plainly what went wrong."""

import sys
import time
from pathlib import Path
from urllib.parse import unquote

import line_agent
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from subprocess_pipe import SubprocessPipe

from netlab import core
from netlab.errors import HostError
from netlab.hosts.lines import LineProcess, request_line

ARGV = (sys.executable, str(Path(line_agent.__file__)))


@pytest.fixture
def agent():
    with LineProcess(SubprocessPipe(ARGV), host="h", argv=ARGV) as process:
        assert process.receive(20)["event"] == "ready"
        yield process


def test_answers_come_in_order(agent):
    for _ in range(3):
        agent.send("ping")
    times = [agent.receive(5)["t_ns"] for _ in range(3)]
    assert times == sorted(times)


def test_values_arrive_whatever_they_hold(agent):
    words = {"a": "x y", "b": "50% é\n=&", "c": 7, "d": True, "e": 0.5, "f": ""}
    agent.send("echo", **words)
    assert agent.receive(5)["words"] == {
        "a": "x y", "b": "50% é\n=&", "c": "7", "d": "1", "e": "0.5", "f": ""
    }  # fmt: skip


@given(st.text(max_size=300))
def test_a_request_is_one_line_that_decodes_to_its_values(value):
    line = request_line("echo", {"key": value})
    assert line.count(b"\n") == 1
    verb, word = line.decode("ascii").rstrip("\n").split(" ")
    assert (verb, unquote(word.partition("=")[2])) == ("echo", value)


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("two words", {}),
        ("", {}),
        ("ping\nquit", {}),
        ("ping", {"Key": "1"}),
        ("ping", {"a b": "1"}),
        ("ping", {"a": None}),
        ("ping", {"a": [1]}),
        ("ping", {"a": "x" * 4096}),
    ],
)
def test_a_request_that_cannot_be_encoded_is_refused(verb, words):
    with pytest.raises(ValueError):
        request_line(verb, words)


@pytest.mark.parametrize("verb", ["nonsense", "list", "nan", "latin"])
def test_an_invalid_answer_is_an_error_that_names_the_host(agent, verb):
    agent.send(verb)
    with refused(HostError, "E-HOST-010"):
        agent.receive(5)


def test_an_answer_over_the_limit_is_refused_before_its_end():
    process = LineProcess(SubprocessPipe(ARGV), host="h", argv=ARGV, max_answer_bytes=10_000)
    with process:
        process.receive(20)
        process.send("long", size=50_000)
        with refused(HostError, "E-HOST-008"):
            process.receive(5)


def test_an_answer_cut_off_is_an_error(agent):
    agent.send("cut")
    with refused(HostError, "E-HOST-009"):
        agent.receive(5)


def test_the_error_of_a_dead_process_has_exit_status_and_the_last_of_stderr(agent):
    agent.send("die", status=3)
    with refused(HostError, "E-HOST-009") as caught:
        agent.receive(5)
    assert caught.value.exit_status == 3
    assert caught.value.output == "first reason\nlast reason"
    with refused(HostError, "E-HOST-006"):
        for _ in range(100):
            agent.send("ping")
            time.sleep(0.01)


def test_silence_is_an_error_after_the_timeout_and_none_from_poll(agent):
    begun = time.monotonic()
    assert agent.poll(0.2) is None
    with refused(HostError, "E-HOST-007"):
        agent.receive(0.2)
    assert time.monotonic() - begun < 3


def test_a_flood_on_stderr_does_not_block(agent):
    agent.send("complain", size=3 << 20)
    assert agent.receive(10)["event"] == "complained"
    assert 0 < len(agent.stderr_text()) <= 1 << 20


def test_close_ends_the_process_and_returns_its_status(agent):
    assert agent.close() == 0
    assert agent.close() == 0


def test_close_does_not_wait_for_a_process_that_will_not_end(agent):
    agent.send("deaf")
    begun = time.monotonic()
    assert agent.close(timeout_s=0.3) is None
    assert time.monotonic() - begun < 3


def test_every_option_of_a_run_can_be_encoded():
    for name in core.options():
        assert request_line("gen", {name: 1}) == f"gen {name}=1\n".encode()


@pytest.mark.parametrize("status", [126, 127])
def test_a_program_that_cannot_be_executed_is_told_from_one_that_ended(status):
    argv = ("sh", "-c", f"echo 'Exec format error' >&2; exit {status}")
    process = LineProcess(SubprocessPipe(argv), host="h", argv=argv)
    with process, pytest.raises(HostError, match="cannot be executed on this host") as caught:
        process.receive(5)
    assert caught.value.code == "E-HOST-009" and "Exec format error" in str(caught.value)
