"""The command-line subcommands of gensink, and gen4 and sink4 of 2003."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import statistics
import subprocess
import time
from pathlib import Path

import pytest
from waiting import until

from netlab import core

LINE = re.compile(
    r"throughput +[\d.]+ MB/s  data +([\d.]+) MB  time +([\d.]+) s  average +([\d.]+) MB/s"
)


def run(*argv: object, timeout: float = 30) -> subprocess.CompletedProcess[str]:
    argv = tuple(str(a) for a in argv)
    silent = subprocess.DEVNULL
    return subprocess.run(argv, stdin=silent, capture_output=True, text=True, timeout=timeout)


def join(
    sink: subprocess.Popen[str], gensink: object, *argv: object
) -> subprocess.CompletedProcess:
    """Run the command that a sink prints, with its token on standard input."""
    sink.stderr.readline()
    command = (str(gensink), *sink.stderr.readline().split()[1:], *map(str, argv))
    token = sink.stderr.readline()
    return subprocess.run(command, input=token, capture_output=True, text=True, timeout=30)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_listening(port: int) -> None:
    """Wait until a socket listens on the port; connecting would take the only place."""
    listens = re.compile(rf":{port:04X} \S+ 0A ")
    tables = [Path(f"/proc/thread-self/net/{name}") for name in ("tcp", "tcp6")]
    until(lambda: any(listens.search(table.read_text()) for table in tables))


def start(*argv: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        tuple(str(a) for a in argv), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def classic(gensink, tmp_path) -> dict[str, Path]:
    """gen4 and sink4, as links to the binary."""
    for name in ("gen4", "sink4"):
        (tmp_path / name).symlink_to(gensink)
    return {name: tmp_path / name for name in ("gen4", "sink4")}


def test_sink_and_gen_run_alone(gensink):
    sink = start(gensink, "sink", "--bind", "127.0.0.1", "--json", "--streams", 2,
                 "--congestion", "cubic", "--window_ms", 1200)  # fmt: skip
    gen = join(sink, gensink, "--congestion", "cubic", "--window-ms", 1200, "--tail_ms", 50)
    report = json.loads(sink.stdout.read())
    assert sink.wait(30) == 0
    assert gen.returncode == 0, gen.stderr
    assert report["status"] == "ok" and report["streams"] == 2
    lines = gen.stdout.splitlines()
    assert re.match(r" +[\d.]+ MB/s +[\d.]+ MB +[\d.]+ s  average +[\d.]+ MB/s$", lines[0])
    total_MB = float(re.search(r"([\d.]+) MB in all", lines[-1])[1])
    assert total_MB == pytest.approx(report["total_bytes"] / 1e6, abs=0.06)


def test_a_refusal_by_the_kernel_is_one_message_that_names_the_option(gensink):
    done = run(gensink, "sink", "--bind", "127.0.0.1", "--mss-B", 20)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "(mss_B)" in done.stderr and "Invalid argument" in done.stderr


def test_a_sink_without_an_agent_has_no_start_to_await(gensink):
    done = run(gensink, "sink", "--bind", "127.0.0.1", "--await_start_ms", 1)
    assert done.returncode == 1 and "only a sink of an agent" in done.stderr


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_sink_still_reports(gensink, which):
    sink = start(gensink, "sink", "--bind", "127.0.0.1", "--accept_ms", 60000, "--json")
    sink.stderr.readline()
    sink.send_signal(which)
    report = json.loads(sink.communicate(timeout=30)[0])
    assert report["status"] == "stopped" and sink.returncode == 1


TO = "gen --to 127.0.0.1 --port 5"
BAD = {
    "agent x": "",
    "agent --silence-s=0": "--silence-s: expected an integer from 1 to 86400",
    "agent --hold-s 1": "",
    "cc --hold-s=1": "unknown option --hold-s=1; allowed: --silence-s, --help",
    "emulate x": "",
    "emulate --silence-s=1": "unknown option --silence-s=1; allowed: --help",
    TO: "--token is missing: the sink prints it",
    f"{TO} --token {'ab' * 16}": "every user of this host sees a token on the command line: "
    "name a file that has it, or - for standard input",
    f"{TO} --token /dev/null": "",
    f"{TO} --token -": "",
    f"{TO} --token /nowhere/token": "the token's file /nowhere/token: No such file or directory",
    f"{TO} --token": "--token needs a value",
    "gen --bind ::1": "a gen has no option bind",
    "gen --colour=red": "unknown option --colour=red; --help lists the options",
    "sink --to=127.0.0.1": "a sink has no option to",
    "sink --json 5": "unexpected argument 5",
    "sink --bind ::1 --mss_B=40000": "mss_B: expected an integer from 0 to 32767",
    "sink --bind 127.0.0.1 --streams -1": "",
    "meter --json": "missing argument: INTERFACE",
    "meter nosuch0 --seconds 1": "",
    "meter lo --seconds=0": "--seconds: expected an integer from 1 to 86400",
    "copyrate --colour": "unknown option --colour; allowed: --budget-ms, --help",
}
"""Command line -> its message, or empty if only its one line counts."""


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_message_and_exit_2(gensink, line):
    command, *argv = line.split()
    done = run(gensink, command, *argv)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert BAD[line] in ("", done.stderr.removeprefix(f"{command}: ").rstrip("\n"))


def test_bytes_take_the_place_of_the_window_unless_both_are_given(gensink, tmp_path):
    (tmp_path / "token").write_text("ab" * 16)
    argv = (*TO.split(), "--token", tmp_path / "token", "--bytes=7", "--connect_ms=1")
    assert run(gensink, *argv).returncode == 1
    both = run(gensink, *argv, "--window-ms=7")
    assert both.returncode == 2 and "bytes" in both.stderr


@pytest.mark.parametrize("argv", [(), ("nonsense",)])
def test_without_a_known_command_the_usage_is_shown_with_exit_2(gensink, argv):
    done = run(gensink, *argv)
    assert done.returncode == 2 and done.stdout == ""


def test_every_option_of_a_role_is_in_its_help_and_accepted_in_either_spelling(gensink):
    for role in ("gen", "sink"):
        text = run(gensink, role, "--help").stdout
        for name, option in core.options().items():
            assert (f"  --{name} " in text) == (role in option.roles)
            for spelling in {name, name.replace("_", "-")}:
                told = run(gensink, role, f"--{spelling}=\x7f").stderr
                assert "unknown option" not in told
                assert (f"has no option {name}" in told) == (role not in option.roles)


@pytest.mark.parametrize("argv", [("agent", "--silence-s", "1"), ("cc", "--silence_s=1")])
def test_a_silence_limit_ends_a_command_that_serves(own_network, gensink, argv):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    with subprocess.Popen((gensink, *argv), **pipes) as process:
        assert process.wait(30) == 1


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("agent", ["--silence-s"]),
        ("cc", ["--silence-s"]),
        ("emulate", []),
        ("tune", ["--hold-s", "--silence-s"]),
        ("meter", ["--seconds", "--json"]),
        ("copyrate", ["--budget-ms"]),
    ],
)
def test_help_lists_the_options_of_a_command(gensink, command, options):
    helped = run(gensink, "help", command)
    assert helped.returncode == 0
    assert helped.stdout == run(gensink, command, "--help").stdout
    assert helped.stdout.startswith(f"Usage: gensink {command}")
    assert re.findall(r"^  (--[a-z-]+)", helped.stdout, re.MULTILINE) == options


def test_help_and_version(gensink):
    assert "agent" in run(gensink, "help").stdout
    assert run(gensink, "--version").stdout == run(gensink, "version").stdout


def test_a_port_in_use_is_said_once(gensink, classic):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for argv in (
            (gensink, "sink", "--bind", "127.0.0.1", "--port", port),
            (classic["sink4"], "127.0.0.1", port, 65536, 262144),
        ):
            done = run(*argv)
            assert done.returncode == 1
            assert len(done.stderr.splitlines()) == 1 and "in use" in done.stderr


def test_meter_prints_the_report_of_the_program_of_2003(gensink):
    began = time.monotonic()
    meter = start(gensink, "meter", "lo", "--seconds", 2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        while meter.poll() is None:
            s.sendto(b"x" * 1000, ("127.0.0.1", 9))
            time.sleep(0.001)
    lines = meter.communicate(timeout=30)[0].splitlines()
    assert meter.returncode == 0
    received = int(re.fullmatch(r"Bytes received   : (\d+) B", lines[0])[1])
    assert received >= 102_800  # 100 datagrams of 1028 B
    assert re.fullmatch(r"Bytes transmitted: \d+ B", lines[1])
    elapsed_s = float(re.fullmatch(r"Elapsed time     : ([\d.]+) s", lines[2])[1])
    assert 2 <= elapsed_s <= time.monotonic() - began + 0.01  # it is rounded
    assert lines[3] == "Average Bandwidth:"
    receive_KBps = float(re.fullmatch(r"\tReceive : ([\d.]+) KB/s", lines[4])[1])
    assert receive_KBps == pytest.approx(received / elapsed_s / 1000, rel=0.02)
    assert re.fullmatch(r"\tTransmit: [\d.]+ KB/s", lines[5])
    assert re.fullmatch(r"\tTotal   : [\d.]+ KB/s", lines[6])


def test_the_copy_rate_is_a_line_of_json(gensink):
    found = json.loads(run(gensink, "copyrate", "--budget-ms", "50").stdout)
    assert found["event"] == "copyrate" and found["hot_Bps"] > 1e8 and found["cold_Bps"] > 1e8


def test_the_copy_rate_is_as_high_while_others_use_the_cpu(gensink):
    """Three others on its CPU leave it a quarter of the time, in which it copies as fast.

    The median of five ratios, each of two rates measured in turn.
    """
    pinned = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    others = [subprocess.Popen((*pinned, "sh", "-c", "while :; do :; done")) for _ in range(3)]

    def rate_Bps(number: signal.Signals) -> float:
        for other in others:
            other.send_signal(number)
        return json.loads(run(*pinned, gensink, "copyrate", "--budget-ms", 60).stdout)["cold_Bps"]

    try:
        ratios = [1 / rate_Bps(signal.SIGSTOP) * rate_Bps(signal.SIGCONT) for _ in range(5)]
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert statistics.median(ratios) > 0.5, ratios


def test_meter_as_json_has_cpu_and_ends_on_interrupt(gensink):
    meter = start("env", "--block-signal=INT", gensink, "meter", "lo", "--json")
    until(lambda: Path(f"/proc/{meter.pid}/exe").readlink() == gensink)
    meter.send_signal(signal.SIGINT)
    span = json.loads(meter.communicate(timeout=30)[0])
    assert span["event"] == "meter" and span["interface"]["reset"] is False
    assert {"frequency_kHz", "first_frequency_kHz", "throttled"} <= set(span["cpu"][0])
    assert span["t0_ns"] < span["t1_ns"]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_gen4_and_sink4_talk_and_print_a_running_report(classic, address):
    pairs = []
    for _ in range(2):  # several copies side by side
        port = free_port()
        sink = start(classic["sink4"], address, port, 65536, 262144)
        wait_listening(port)
        pairs.append((sink, start(classic["gen4"], address, port, 65536, 262144)))
    for sink, gen in pairs:
        running = [gen.stdout.readline() for _ in range(2)]  # a line a second
        gen.send_signal(signal.SIGINT)
        sent = [LINE.fullmatch(line.rstrip()) for line in (*running, *gen.stdout)]
        received = [LINE.fullmatch(line.rstrip()) for line in sink.stdout]
        assert (gen.wait(30), sink.wait(30)) == (0, 0), (gen.stderr.read(), sink.stderr.read())
        assert all(sent) and all(received) and len(sent) >= 3
        data_MB = [float(line[1]) for line in received]
        assert data_MB == sorted(data_MB) and data_MB[-1] > 0
        last = received[-1]
        assert float(last[3]) == pytest.approx(float(last[1]) / float(last[2]), rel=0.05)


def test_sink4_ends_on_interrupt_before_and_after_a_gen_came(classic):
    idle_port, port = free_port(), free_port()
    waiting = start(classic["sink4"], "127.0.0.1", idle_port, 65536, 262144)
    serving = start(classic["sink4"], "127.0.0.1", port, 65536, 262144)
    wait_listening(idle_port)
    wait_listening(port)
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(b"x" * 2_000_000)
        until(lambda: float(LINE.match(serving.stdout.readline())[1]) == 2.0)  # a line a second
        for sink in (waiting, serving):
            sink.send_signal(signal.SIGINT)
        assert waiting.communicate(timeout=30)[0] == "" and waiting.returncode == 0
        last = serving.stdout.read().splitlines()[-1]
    assert serving.wait(30) == 0
    assert float(LINE.fullmatch(last)[1]) == 2.0


@pytest.mark.parametrize("name", ["gen4", "sink4"])
def test_bad_arguments_of_2003(classic, name):
    done = run(classic[name])
    assert done.returncode == 2
    assert done.stderr == f"Usage: {name} hostname server_port record_length setsockopt\n"
    for argv, word in (
        (("localhost", 5000, 65536, 262144), "hostname"),
        (("127.0.0.1", 0, 65536, 262144), "server_port"),
        (("127.0.0.1", 70000, 65536, 262144), "server_port"),
        (("127.0.0.1", 5000, 0, 262144), "record_length"),
        (("127.0.0.1", 5000, "64k", 262144), "record_length"),
        (("127.0.0.1", 5000, 65536, -1), "setsockopt"),
    ):
        done = run(classic[name], *argv)
        assert done.returncode == 2 and word in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_gen4_without_a_sink_says_so(classic):
    done = run(classic["gen4"], "127.0.0.1", free_port(), 65536, 262144)
    assert done.returncode == 1 and "refused" in done.stderr
