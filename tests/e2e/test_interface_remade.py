"""An interface that is deleted and made again under a run leaves the run flagged."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator

import pytest
from subprocess_pipe import SubprocessPipe

from netlab import core
from netlab.hosts.host import LineProcess
from netlab.measure.exchange import Request, RunEnd, measure
from netlab.measure.flags import flags_of
from netlab.measure.ledger import audit
from netlab.measure.record import RunSetting, interval_rows, record
from netlab.study import Timing

MTU_B = 1500
ENDS = {"a": "198.18.77.1", "b": "198.18.77.2"}


def ip(*argv: str) -> None:
    subprocess.run(("ip", *argv), check=True)


@pytest.fixture
def namespaces() -> Iterator[dict[str, str]]:
    """Two namespaces with unique names, gone after the test."""
    names = {end: f"nlremade-{os.getpid()}-{end}" for end in ENDS}
    try:
        for name in names.values():
            ip("netns", "add", name)
        yield names
    finally:
        for name in names.values():
            subprocess.run(("ip", "netns", "del", name), check=False)


def joined(namespaces: dict[str, str]) -> None:
    """Make the cable; its two ends have the same names and addresses each time."""
    a, b = namespaces["a"], namespaces["b"]
    ip("-n", a, "link", "add", "data0", "type", "veth", "peer", "name", "data0", "netns", b)
    for end, name in namespaces.items():
        ip("-n", name, "address", "add", f"{ENDS[end]}/24", "dev", "data0")
        ip("-n", name, "link", "set", "data0", "up")


@pytest.fixture
def sides(namespaces) -> Iterator[dict[str, RunEnd]]:
    joined(namespaces)
    processes = {}
    try:
        for end, name in namespaces.items():
            argv = ("ip", "netns", "exec", name, str(core.gensink_path()), "agent")
            processes[end] = LineProcess(SubprocessPipe(argv), host=end, argv=argv)
            assert processes[end].receive(20)["event"] == "ready"
        yield {end: RunEnd(end, processes[end], ENDS[end], "data0", 0, 0) for end in ENDS}
    finally:
        for process in processes.values():
            process.close()


def run(sides: dict[str, RunEnd], while_it_runs=lambda: None) -> tuple[dict[str, str], dict]:
    """One run of 3 s; its flags and its row."""
    request = Request(
        streams=2,
        record_length_B=65536,
        congestion="reno",
        force_buffer=False,
        receive="copy",
        warmup_ms=0,
        window_ms=3000,
        interval_ms=1000,  # only the watch over the counters is frequent
        both=False,
    )

    class Meddling:
        """The sender's agent; what happens to the host while it sends."""

        def __init__(self, channel):
            self.channel = channel

        def send(self, verb, **words):
            self.channel.send(verb, **words)
            if verb == "gen":
                while_it_runs()

        def poll(self, timeout_s):
            return self.channel.poll(timeout_s)

    a = sides["a"]
    sender = RunEnd(a.host, Meddling(a.channel), a.address, a.interface, 0, 0)
    outcome = measure(sender, sides["b"], request)
    ledger = audit([(f.gen, f.sink) for f in outcome.flows], mtu_B=MTU_B, both=False)
    row = record(outcome, RunSetting(MTU_B, None, None, None, False, True), ledger)
    timing = Timing(rounds=1, seconds=3.0, warmup_s=0.0, interval_ms=1000)
    intervals = interval_rows("r", outcome.flows)
    return flags_of(row, outcome, ledger.problems, [], intervals, timing), row


def test_a_run_over_an_interface_that_stays_is_not_flagged_for_its_counters(sides):
    flags, row = run(sides)
    assert not {"counter_reset", "clock_step", "ledger_mismatch", "failed"} & set(flags), flags
    assert row["counter_wraps"] == 0


def test_an_interface_that_is_made_again_is_flagged_as_a_counter_reset(sides, namespaces):
    def remake():
        time.sleep(1.0)
        ip("-n", namespaces["a"], "link", "del", "data0")
        time.sleep(0.1)
        joined(namespaces)

    flags, row = run(sides, remake)
    assert "the counters of data0 went back, or it was replaced" in flags["counter_reset"]
    assert {part.split(":")[0] for part in flags["counter_reset"].split("; ")} == {"sender", "sink"}
    assert "clock_step" not in flags
    # TCP itself got over it, and the bytes that it moved agree
    assert row["sent_B"] >= row["received_B"] > 0
    assert "ledger_mismatch" not in flags, flags
