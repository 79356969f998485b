"""Run all tests. Failed ones that depend on the time of a CPU run again, and the output names them.

    python tests/run.py [arguments of pytest]

Without arguments there are three parts. The tests of `make check` run first, on all CPUs. Next are
tests that build programs, execute notebooks or simulate, and those that look at what netlab does
rather than how fast: a file on each CPU at a time, and one more, as many of them wait. Each worker
has a network of its own for them (``tests/apart.py``). The last part runs one test at a time: they
measure goodput or time.

A test with the marker ``timing`` compares a rate or a duration with an expected one. It measures
the CPU time that other guests of the machine took from its own window (``tests/noise.py``) and
states it. Tests of virtual machines and of JupyterLab have it too: an emulated processor and a
browser are as fast as the other guests allow.

A test with the marker ``study`` has netlab measure a study, and wants every run to be valid. Other
work on the CPUs can flag a run more often than netlab measures it again. The share of a test's time
in which work waited for a CPU is measured. Only if it is above a tenth, and the error names a run
that netlab flagged for other work, may a failed test run again.

Every other failure is final, and so are more than a few of them: a second run could hide a race.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import apart
import pytest
from noise import LITTLE

TIMING = "timing"
STUDY = "study"
CONTENDED = "contended"
"""Property of a test: share of its time in which work waited for a CPU, or a guest took it."""
DISTURBED = re.compile(
    r"^E .*(interference|emulator_late|foreign|steal|noisy|flagged)", re.MULTILINE
)
"""A line of an error that names a run with other work on its CPUs."""
MOST_AGAIN = 6
LONG = "e2e or native or root or slow or timing or alone"
"""Markers of tests that `make check` leaves out."""
ALONE = "(e2e or timing or alone) and not beside"
"""Markers of tests that need the machine for themselves."""
LONGEST = (
    "faults/test_faults.py",
    "vm/test_vm_power.py",
    "e2e/test_guide_on_a_lab.py",
    "native/test_native_builds.py",
    "vm/test_vm_architectures.py",
    "fleet/test_fleet_faults.py",
    "e2e/test_study_runs.py",
    "e2e/test_site_in_browser.py",
    "report/test_bundle.py",
    "e2e/test_face_on_a_lab.py",
    "vm/test_vm_studies.py",
    "e2e/test_start_here.py",
    "vm/test_vm_paths.py",
    "fleet/test_fleet_on_a_lab.py",
    "fleet/test_fleet_simulated.py",
    "e2e/test_jupyterlab.py",
    "analysis/test_compare_errors.py",
    "analysis/test_coverage.py",
    "vm/test_vm_init.py",
    "e2e/test_face_notebooks.py",
    "e2e/test_wheel.py",
    "fleet/test_fleet_notebook.py",
    "native/test_native_architectures.py",
    "e2e/test_generators.py",
    "e2e/test_nothing_stays_changed.py",
)
"""Files that take minutes: they begin first, so that no CPU waits for the last of them."""
STUDIES = {
    "e2e/test_as_found.py",
    "e2e/test_autotune_runs.py",
    "e2e/test_bench_runs.py",
    "e2e/test_emulated_runs.py",
    "e2e/test_face_notebooks.py",
    "e2e/test_face_on_a_lab.py",
    "e2e/test_factors_runs.py",
    "e2e/test_generators.py",
    "e2e/test_guide_on_a_lab.py",
    "e2e/test_init.py",
    "e2e/test_interface_remade.py",
    "e2e/test_long_path_study.py",
    "e2e/test_noisy_host.py",
    "e2e/test_nothing_stays_changed.py",
    "e2e/test_quiet_hosts.py",
    "e2e/test_rerun.py",
    "e2e/test_screen_on_a_lab.py",
    "e2e/test_silent_visit.py",
    "e2e/test_socket_options.py",
    "e2e/test_stacks_in_a_study.py",
    "e2e/test_start_here.py",
    "e2e/test_study_runs.py",
    "e2e/test_wheel.py",
    "faults/test_faults.py",
    "fleet/test_fleet_faults.py",
    "fleet/test_fleet_notebook.py",
    "fleet/test_fleet_on_a_lab.py",
}
"""Tests that have netlab measure, and want valid runs."""
SLOWEST = "--durations=40"


class Failures:
    """A pytest plugin that collects the names of failed tests, those that may run again apart."""

    def __init__(self) -> None:
        self.again: dict[str, float] = {}
        """Name -> contended share of its time."""
        self.final = False
        """Whether any other test failed."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that failed in its set-up, call or teardown."""
        if report.failed:
            share = dict(report.user_properties).get(CONTENDED, 0.0)
            disturbed = share > LITTLE and DISTURBED.search(report.longreprtext)
            if TIMING in report.keywords or (STUDY in report.keywords and disturbed):
                self.again[report.nodeid] = share
            else:
                self.final = True


def main(argv: list[str]) -> int:
    """Run pytest, and once more the failed tests that may; return its exit code."""
    if argv:
        return tried(argv)
    files = ("--dist", "loadfile", "--no-loadscope-reorder", SLOWEST)
    parts = (
        (("-n", "auto", "--dist", "worksteal", "-m", f"not ({LONG})"), {}),
        # a file at a time: what a file builds is built once; one more than CPUs, as tests wait
        (
            ("-n", str((os.cpu_count() or 1) + 1), *files, "-m", f"({LONG}) and not ({ALONE})"),
            {apart.WANTED: "1"},
        ),
        ((SLOWEST, "-m", ALONE), {}),
    )
    codes = [
        subprocess.run((sys.executable, __file__, "-q", *part), env={**os.environ, **own})
        for part, own in parts
    ]
    return max(done.returncode for done in codes)


def tried(argv: list[str]) -> int:
    """Run tests, and again the failed ones that may, one at a time."""
    failures = Failures()
    code = int(pytest.main(argv, plugins=[failures]))
    if code != pytest.ExitCode.TESTS_FAILED:
        return code
    if failures.final or not 0 < len(failures.again) <= MOST_AGAIN:
        return code
    print("\nTests that depend on CPU time failed. They are run once more:")
    for name, share in failures.again.items():
        print(f"  {name}\n    work waited for a CPU in {share:.0%} of its time")
    sys.stdout.flush()
    return subprocess.run((sys.executable, "-m", "pytest", *failures.again)).returncode


if __name__ == "__main__":
    # a job in the background ignores them, and so would every process that the tests signal
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.chdir(Path(__file__).parent.parent)
    sys.exit(main(sys.argv[1:]))
