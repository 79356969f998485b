"""Processors that stay awake, for tests of delays."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def awake() -> Iterator[None]:
    """Busy loops that yield to all else: a virtual CPU that has slept wakes milliseconds late."""
    loop = ("sh", "-c", "while :; do :; done")
    cpus = map(str, os.sched_getaffinity(0))
    idle = [("timeout", "900", "chrt", "-i", "0", "taskset", "-c", cpu, *loop) for cpu in cpus]
    running = [subprocess.Popen(argv) for argv in idle]
    yield
    for process in running:
        process.terminate()
        process.wait()
