"""A line process sends words, takes JSON lines, and says plainly what went wrong."""

import json
import sys
import time
from pathlib import Path
from urllib.parse import unquote

import line_agent
import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_host import SubprocessPipe
from refusals import refused

from netlab import core
from netlab.errors import HostError
from netlab.hosts.line_process import LineProcess, request_line

ARGV = (sys.executable, str(Path(line_agent.__file__)))


@pytest.fixture
def agent():
    with LineProcess(SubprocessPipe(ARGV), host="h", argv=ARGV) as process:
        assert process.receive(30)["event"] == "ready"
        yield process


def test_answers_come_in_order_and_values_arrive_whatever_they_hold(agent):
    for _ in range(3):
        agent.send("ping")
    times = [agent.receive(30)["t_ns"] for _ in range(3)]
    assert times == sorted(times)
    words = {"a": "x y", "b": "50% é\n=&", "c": 7, "d": True, "e": 0.5, "f": ""}
    agent.send("echo", **words)
    assert json.loads(agent.receive(30)["message"]) == {
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


INVALID = [*((verb, "E-HOST-010") for verb in ("nonsense", "list", "nan", "latin"))]


@pytest.mark.parametrize(("verb", "code"), [*INVALID, ("cut", "E-HOST-009")])
def test_an_invalid_answer_or_one_cut_off_is_an_error_of_the_host(agent, verb, code):
    agent.send(verb)
    with refused(HostError, code):
        agent.receive(30)


def answering(text: str) -> LineProcess:
    """A process whose one answer is this text."""
    argv = ("printf", "%s\\n", text)
    return LineProcess(SubprocessPipe(argv), host="h", argv=argv)


@pytest.mark.parametrize(
    "number",
    [str(1 << 63), str(-(1 << 63)), "9" * 4000, "9" * 5000, "1e999", "-1E+999", "-1", "1.5",
     "true", "null", '"1"', "[1]"],
)  # fmt: skip
def test_what_is_no_time_is_an_error_of_the_host(number):
    text = f'{{"event": "pong", "t_ns": {number}}}'
    with answering(text) as process, refused(HostError, "E-HOST-010", "E-HOST-070", match="^h: "):
        process.receive(30)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"event": "x"}', "unknown answer 'x'"),
        ('{"event": ["pong"]}', "unknown answer"),
        ("{}", "unknown answer None"),
        ('{"event": "pong"}', "pong lacks t_ns"),
        ('{"event": "pong", "t_ns": -1}', "pong: t_ns is -1: "),
        ('{"event": "begun", "run": %s}' % ("[" * 2000 + "]" * 2000), "not an answer"),
        ('{"event": "error", "message": "%s"}' % ("x" * 5000), "error: message is 'xxx"),
    ],
)
def test_an_answer_beside_the_table_is_an_error_of_the_host_that_says_where(text, says):
    with answering(text) as process, pytest.raises(HostError, match=r"^h: printf sent ") as caught:
        process.receive(30)
    assert says in str(caught.value)


def test_a_number_of_64_bits_arrives_as_it_is_and_text_on_one_printable_line():
    with answering(f'{{"event": "pong", "t_ns": {1 << 62}}}') as process:
        assert process.receive(30)["t_ns"] == 1 << 62
    with answering('{"event": "error", "message": "a\\n\\u001b[2Jé"}') as process:
        assert process.receive(30)["message"] == r"a\n\x1b[2Jé"


def test_an_answer_over_the_limit_is_refused_before_its_end():
    process = LineProcess(SubprocessPipe(ARGV), host="h", argv=ARGV, max_answer_bytes=10_000)
    with process:
        process.receive(30)
        process.send("long", size=50_000)
        with refused(HostError, "E-HOST-008"):
            process.receive(30)


def test_the_error_of_a_dead_process_has_exit_status_and_the_last_of_stderr(agent):
    agent.send("die", status=3)
    with refused(HostError, "E-HOST-009") as caught:
        agent.receive(30)
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
    assert time.monotonic() - begun < 30


def test_a_flood_on_stderr_does_not_block(agent):
    agent.send("complain", size=3 << 20)
    assert agent.receive(30)["event"] == "alive"
    assert 0 < len(agent.stderr_text()) <= 1 << 20


def test_close_ends_the_process_returns_its_status_and_does_not_wait_for_ever(agent):
    with LineProcess(SubprocessPipe(ARGV), host="h", argv=ARGV) as other:
        assert other.close() == other.close() == 0
    agent.send("deaf")
    begun = time.monotonic()
    assert agent.close(timeout_s=0.3) is None
    assert time.monotonic() - begun < 30


def test_every_option_of_a_run_can_be_encoded():
    for name in core.options():
        assert request_line("gen", {name: 1}) == f"gen {name}=1\n".encode()


@pytest.mark.parametrize("status", [126, 127])
def test_a_program_that_cannot_be_executed_is_told_from_one_that_ended(status):
    argv = ("sh", "-c", f"echo 'Exec format error' >&2; exit {status}")
    process = LineProcess(SubprocessPipe(argv), host="h", argv=argv)
    with process, pytest.raises(HostError, match="cannot be executed on this host") as caught:
        process.receive(30)
    assert caught.value.code == "E-HOST-009" and "Exec format error" in str(caught.value)
