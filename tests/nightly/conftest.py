"""Processors that stay awake, for tests of rates and delays."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def awake_cpus() -> Iterator[None]:
    """A hypervisor may take milliseconds to run an idle processor again; see docs/precision.md."""
    argv = ("chrt", "--idle", "0", "taskset", "--cpu-list")
    loop = ("sh", "-c", "while :; do :; done")
    loops = [subprocess.Popen((*argv, str(cpu), *loop)) for cpu in os.sched_getaffinity(0)]
    yield
    for each in loops:
        each.kill()
        each.wait()
