"""Run all tests. Only failed timing tests are run a second time, and the output names them.

    python tests/run.py [arguments of pytest]

Without arguments there are three parts. The tests of `make check` run first, on all CPUs. Next are
tests that build programs, execute notebooks or simulate, and those that look at what netlab does
rather than how fast: a file on each CPU at a time. Each worker has a network of its own for them
(``tests/apart.py``). The last part runs one test at a time: they measure goodput or time.

A test with the marker ``timing`` compares a rate or a duration with an expected one. It measures
the CPU time that other guests of the machine took from its own window (``tests/noise.py``) and
states it. Tests of virtual machines and of JupyterLab have it too: an emulated processor and a
browser are as fast as the other guests allow. Every other failure is final: a second run could
hide a race.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apart
import pytest

TIMING = "timing"
LONG = "e2e or native or root or slow or timing or alone"
"""Markers of tests that `make check` leaves out."""
ALONE = "(e2e or timing or alone) and not beside"
"""Markers of tests that need the machine for themselves."""
LONGEST = (
    "faults/test_faults.py",
    "e2e/test_site_in_browser.py",
    "e2e/test_jupyterlab.py",
    "vm/test_vm_studies.py",
    "e2e/test_start_here.py",
    "e2e/test_study_runs.py",
    "analysis/test_compare_errors.py",
    "e2e/test_guide_on_a_lab.py",
    "native/test_native_builds.py",
    "e2e/test_face_on_a_lab.py",
    "e2e/test_nothing_stays_changed.py",
    "vm/test_vm_power.py",
)
"""Files that take minutes: they begin first, so that no CPU waits for the last of them."""
SLOWEST = "--durations=40"


class Failures:
    """A pytest plugin that collects the names of failed tests, timing tests apart."""

    def __init__(self) -> None:
        self.timing: list[str] = []
        self.others: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that failed in its set-up, call or teardown."""
        if report.failed:
            kind = self.timing if TIMING in report.keywords else self.others
            if report.nodeid not in kind:
                kind.append(report.nodeid)


def main(argv: list[str]) -> int:
    """Run pytest, and once more the timing tests that failed; return its exit code."""
    if argv:
        return tried(argv)
    files = ("--dist", "loadfile", "--no-loadscope-reorder", SLOWEST)
    parts = (
        (("-n", "auto", "--dist", "worksteal", "-m", f"not ({LONG})"), {}),
        # a file at a time: what a file builds is built once
        (("-n", "auto", *files, "-m", f"({LONG}) and not ({ALONE})"), {apart.WANTED: "1"}),
        ((SLOWEST, "-m", ALONE), {}),
    )
    codes = [
        subprocess.run((sys.executable, __file__, "-q", *part), env={**os.environ, **own})
        for part, own in parts
    ]
    return max(done.returncode for done in codes)


def tried(argv: list[str]) -> int:
    """Run tests, and once more the timing tests that failed, one at a time."""
    failures = Failures()
    code = int(pytest.main(argv, plugins=[failures]))
    if code != pytest.ExitCode.TESTS_FAILED or failures.others or not failures.timing:
        return code
    print("\nOnly timing tests failed. They are run once more:", *failures.timing, sep="\n  ")
    sys.stdout.flush()
    again = (sys.executable, "-m", "pytest", *failures.timing)
    return subprocess.run(again).returncode


if __name__ == "__main__":
    os.chdir(Path(__file__).parent.parent)
    sys.exit(main(sys.argv[1:]))
