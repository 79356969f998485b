"""A soak of the path emulator: everything at once, changed on the way, without a leak.

Each change is made once with the other tests; ``make nightly`` sets ``NETLAB_SOAK_S``.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from pathlib import Path

import pytest
from native.built_core import FIXED_LAYOUT
from native.emulated import Emulated, emulated, transfer

SOAK_S = float(os.environ.get("NETLAB_SOAK_S", "0"))
pytestmark = pytest.mark.timeout(SOAK_S + 180)
KINDS = [("sanitized", 32 << 20), ("plain", 2 << 20)][: 1 + (SOAK_S > 0)]
"""Kind of build, and growth of its memory: a sanitizer's quarantine of freed memory may grow."""
FIRST_B = {"delay_us": 4000, "rate_bps": 300_000_000, "queue_packets": 200}
STEADY = {"loss_ppb": 0, "jitter_us": 0, "reorder_ppb": 0, "queue_B": 0}
CHANGES = (
    {**FIRST_B, **STEADY, "loss_ppb": 2_000_000, "jitter_us": 500, "seed": 5},
    {**FIRST_B, **STEADY, "reorder_ppb": 5_000_000, "reorder_us": 3000, "loss_ppb": 100_000},
    {**FIRST_B, **STEADY, "delay_us": 0, "queue_packets": 0, "queue_B": 60_000, "seed": 6},
    {**FIRST_B, **STEADY, "delay_us": 30_000, "jitter_us": 20_000, "rate_bps": 50_000_000},
    {**STEADY, "delay_us": 1000, "rate_bps": 0, "queue_packets": 0, "loss_ppb": 1_000_000},
)


def reading_of(pid: int) -> tuple[int, int, int]:
    """Resident memory in B, open files and threads of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident_KiB, threads = re.search(r"VmRSS:\s+(\d+).*Threads:\s+(\d+)", status, re.S).groups()
    return 1024 * int(resident_KiB), len(os.listdir(f"/proc/{pid}/fd")), int(threads)


def check_counts(report: dict) -> None:
    for direction in report["directions"]:
        gone = sum(direction["dropped"].values()) + direction["stored_packets"]
        assert direction["in_packets"] == direction["out_packets"] + gone, direction
        assert direction["stored_B"] <= direction["max_memory_B"] <= direction["memory_B"]
        assert direction["dropped"]["memory"] == direction["dropped"]["malformed"] == 0


def soak(path: Emulated, seconds: float) -> list[tuple[int, int, int]]:
    """Streams and datagrams over a path whose settings change under them; a reading a round."""
    pid = path.emulator.process.pid
    readings = []
    with path.agents() as agents:
        deadline = time.monotonic() + seconds
        for change in itertools.cycle(CHANGES):
            path.both(**change)
            path.set("ab", drop_at="10,50,51", drop_at_ms=100)
            timed = {"warmup_ms": 0, "window_ms": 400, "drain_ms": 20_000}
            result = transfer(path, agents, **timed, streams=4, buffer_B=500_000)
            assert result["sink"]["total_bytes"] == result["gen"]["total_bytes"] > 0
            path.datagrams(300, 1000)
            check_counts(path.report(samples=1, restart_ms=20))
            readings.append(reading_of(pid))
            # every change was made once, then two of them again, however slow the machine
            if time.monotonic() > deadline and len(readings) >= len(CHANGES) + 2:
                return readings


@pytest.mark.parametrize(("kind", "growth_B"), KINDS)
def test_a_soak_of_everything_at_once_has_no_leak(request, gensink, kind, growth_B):
    """No packet, memory, file or thread goes missing or stays behind under any change."""
    wrapper, binary = (), gensink
    if kind == "sanitized":
        wrapper = FIXED_LAYOUT
        binary = request.getfixturevalue("address_build") / "gensink"
    with emulated(gensink, *wrapper, binary=binary) as path:
        path.both(**CHANGES[0])
        path.open()
        readings = soak(path, SOAK_S)
        path.wait_until_empty()
        process = path.emulator.process
        process.stdin.close()
        final = path.emulator.receive()
        said = process.stderr.read().decode()
        assert process.wait(30) == 0 and said == ""
    check_counts(final)
    for direction in final["directions"]:
        assert direction["dropped"]["loss"] > 0 and direction["reordered"] > 0
    assert final["directions"][0]["dropped"]["queue"] > 0
    assert final["directions"][0]["dropped"]["forced"] > len(readings)
    # the first half has touched all memory that the second half uses
    half = len(readings) // 2
    early_B, late_B = (max(part)[0] for part in (readings[:half], readings[half:]))
    assert late_B - early_B < growth_B, (early_B, late_B)
    assert len({reading[1:] for reading in readings}) == 1
