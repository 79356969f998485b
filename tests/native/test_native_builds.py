"""The C tests, sanitized transfers and fuzz targets, built from the same CMake graph.

``make nightly`` runs the agents with ``NETLAB_SANITIZE=thread``, and fuzzes every target.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from native.built_core import CLANG, FIXED_LAYOUT, FUZZ_TARGETS, HERE, fuzz, run
from native.cc_runs import cc_session
from native.spoken_agent import request

from netlab import core
from netlab.hosts.agent import packed_sources

NATIVE = Path(__file__).parents[2] / "native"
FORBIDDEN = re.compile(r"\b(strcpy|strcat|sprintf|vsprintf|atoi|atol|strtok|gets)\s*\(")


@pytest.fixture(autouse=True)
def sanitizer_options(monkeypatch) -> None:
    monkeypatch.setenv("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    monkeypatch.setenv("TSAN_OPTIONS", "halt_on_error=1")


@pytest.mark.parametrize(
    "name", sorted(path.stem.removeprefix("test_") for path in HERE.glob("*/test_*.c"))
)
def test_c_unit(sanitized, name):
    run(sanitized / "tests" / f"test_{name}")


def test_the_runner_reports_a_failure_and_runs_the_other_tests(sanitized):
    argv = (*FIXED_LAYOUT, sanitized / "tests" / "check_itself")
    done = subprocess.run(argv, capture_output=True, text=True)
    expected = ["setup", "teardown", "FAILED fails", "ok passes", "1 passed, 1 failed"]
    assert (done.returncode, done.stdout.splitlines()) == (1, expected)


@pytest.mark.parametrize("target", FUZZ_TARGETS)
def test_fuzz_corpus_replays(sanitized, target):
    files = sorted((HERE / "corpus" / target).iterdir())
    output = run(sanitized / "tests" / f"fuzz_{target}", *files)
    assert output == f"{len(files)} files\n"


def test_a_short_fuzz_of_the_bytes_that_any_host_can_send(tmp_path):
    program = tmp_path / "fuzz_hello"
    flags = ("-g", "-O1", "-std=c11", "-D_GNU_SOURCE", "-fsanitize=fuzzer,address,undefined")
    include = [f"-I{folder}" for folder in (NATIVE / "include", NATIVE / "src", HERE)]
    sources = (HERE / "net" / "fuzz_hello.c", NATIVE / "src" / "net" / "wire.c")
    subprocess.run((CLANG, *flags, *include, *sources, "-o", program), check=True)
    fuzz(program, "hello", 3, tmp_path)


def test_a_storm_of_stops_is_clean(sanitized):
    output = run(sanitized / "tests" / "storm", "5")
    ok = int(re.match(r"ok (\d+) stopped (\d+)", output)[1])
    assert ok > 0, output


@pytest.mark.parametrize(
    ("engine", "send", "receive"),
    [
        ("blocking", "copy", "copy"),
        ("blocking", "sendfile", "discard"),
        ("epoll", "zerocopy", "zerocopy"),
        ("epoll", "splice", "splice"),
        ("plain", "copy", "copy"),
    ],
)
def test_a_sanitized_agent_moves_20_streams_both_ways(
    start_agent, sanitized, engine, send, receive
):
    binary = sanitized / "gensink"
    agent = start_agent(*FIXED_LAYOUT, binary, "agent")
    shared = {"streams": 20, "trace": 1, "interval_ms": 10, "engine": engine, "from": "127.0.0.1"}
    shared |= {"latency_interval_ms": 5, "latency_probe": 3, "latency_idle_ms": 100}
    ends = [agent.sink(run=i, interface="lo", receive=receive, **shared) for i in (1, 2)]
    for i, (port, token) in enumerate(ends, start=1):
        # a long tail: the end of the sink's window may come late under a sanitizer
        agent.gen(port, token, run=i, send=send, tail_ms=1000, **shared)
    results = agent.receive_results(4)
    for i in (1, 2):
        sink, gen = results["sink_result", i], results["gen_result", i]
        assert (sink["status"], gen["status"]) == ("ok", "ok")
        assert sink["total_bytes"] == gen["total_bytes"] == sink["interval_sum_bytes"] > 0
        assert gen["latency"]["sent"] and gen["latency_tcp"]["sent"]
    agent.ask("meter interface=lo")
    agent.ask("sink run=1 bind=nonsense")
    agent.sink(run=4, accept_ms=60_000)
    agent.process.stdin.close()
    said = agent.process.stderr.read().decode()
    assert agent.process.wait(30) == 0, said
    assert said == ""


def test_a_sanitized_agent_places_threads_and_sets_sockets(start_agent, sanitized):
    agent = start_agent(*FIXED_LAYOUT, sanitized / "gensink", "agent")
    asked = {"streams": 6, "window_ms": 800, "congestion": "reno,cubic", "dscp": 8, "nodelay": 1}
    port, token = agent.sink(**asked, follow_incoming_cpu=1)
    cpu = min(os.sched_getaffinity(0))
    agent.gen(port, token, **asked, cpus=cpu, pacing_Bps=20_000_000, mss_B=1400)
    results = agent.receive_results()
    assert {end["status"] for end in results.values()} == {"ok"}
    assert {row["cpu"] for row in results["gen_result", 1]["per_stream"]} == {cpu}
    agent.process.stdin.close()
    said = agent.process.stderr.read().decode()
    assert (agent.process.wait(30), said) == (0, "")


def test_no_unbounded_string_function_is_called():
    """strcpy and its kind have no place in the sources."""
    found = [
        f"{file.name}:{number}: {line.strip()}"
        for folder in (NATIVE, HERE)
        for file in folder.rglob("*.[ch]")
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if FORBIDDEN.search(line)
    ]
    assert found == []
    assert FORBIDDEN.search("x = atoi(text);") and not FORBIDDEN.search("snprintf(a, 1, b);")


@pytest.fixture(scope="module")
def pushed(tmp_path_factory) -> Path:
    """The build of a host of another architecture: the installed sources, with one command."""
    where = tmp_path_factory.mktemp("sources") / "src"
    shutil.copytree(core.source_dir(), where)
    subprocess.run(("sh", "BUILD"), cwd=where, check=True, capture_output=True)
    return where / "gensink"


def test_the_installed_sources_compile_with_one_command(pushed):
    argv = (pushed, "version")
    printed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert printed.split()[2] == core.source_digest()


def test_a_build_without_bpf_says_so(pushed):
    reason = "unsupported: built without BPF: sources compiled on a host come without BPF programs"
    with cc_session(pushed) as holder:
        assert holder.ready["supported"] is False and holder.ready["reason"] == reason
        assert {cc["sha256"] for cc in holder.ready["controls"]} == {None}
        for cc in ("scalable", "highspeed", "aimd", "fast"):
            assert holder.ask(request("load", {"cc": cc}))["message"] == reason


def test_a_host_receives_the_sources_of_every_room():
    """The sources packed for a host that compiles the agent are those in BUILD, and the headers."""
    with tarfile.open(fileobj=io.BytesIO(packed_sources(core.source_dir()))) as archive:
        packed = set(archive.getnames())
    installed = {
        path.relative_to(core.source_dir()).as_posix() for path in core.source_dir().rglob("*.[ch]")
    }
    command = (core.source_dir() / "BUILD").read_text().split()
    compiled = {word for word in command if word.endswith(".c")}
    assert packed == installed
    assert compiled < packed and any(name.count("/") > 1 for name in compiled)


def test_another_system_than_linux_is_refused_in_a_sentence(tmp_path):
    argv = ("cmake", "-S", NATIVE, "-B", tmp_path, "-DCMAKE_SYSTEM_NAME=Darwin")
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode != 0
    assert "netlab runs on Linux, not on Darwin: install it in a" in " ".join(done.stderr.split())
