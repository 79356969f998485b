"""Run the tests: the quick ones, those of each promise, all the others, or those of a night.

    python tests/run.py check|test|rest|nightly [arguments of pytest]

The directory of a test says what it needs. A test runs once: a second run could hide a race.

tests/PACKAGE       nothing: `make check` runs them
tests/PACKAGE/slow  a quarter of a second a test, or seconds: notebooks, sites, PDFs; marked `slow`
tests/native        a C compiler; most need root, for network namespaces and BPF
tests/e2e           root and the lab: namespaces, sshd, a browser
tests/nightly       the machine for itself, emulated processors, or, in long, minutes of one CPU
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apart

PYTEST = (sys.executable, "-m", "pytest", "-q")
NOT_QUICK = ("slow", "*/slow", "native", "e2e", "nightly")
QUICK_TESTS = ("tests", *(f"--ignore-glob=tests/{name}" for name in NOT_QUICK))
QUICK = (*QUICK_TESTS, "-n", "auto", "--maxprocesses=8", "--dist", "worksteal")
FAULT = "tests/e2e/faults/test_faults.py::test_a_fault_ends_as_promised_and_leaves_nothing"
PROMISES = {
    "login": "tests/e2e/test_own_logins.py::"
    "test_whoever_can_log_in_with_ssh_checks_finds_and_measures[default_key]",
    "study, tuning reverted": f"{FAULT}[the controller gets SIGTERM]",
    "kill": f"{FAULT}[the controller is killed]",
    "notebook": "tests/e2e/test_face_notebooks.py::"
    "test_start_here_measures_and_then_measures_a_change",
    "report, browser": "tests/e2e/test_site_in_browser.py::"
    "test_a_page_is_quiet_closed_ordered_and_accessible_at_any_width[index.html]",
    "bundle": "tests/bundle/slow/test_bundle.py::"
    "test_it_has_records_report_study_tunings_and_versions",
    "native core": "tests/native/test_native_transfer.py",
}
"""One end-to-end test of each promise: with the quick ones, what `make test` runs."""
ROOT = Path(__file__).parent.parent
SLOW = sorted(
    str(path.relative_to(ROOT)) for name in NOT_QUICK[:2] for path in ROOT.glob(f"tests/{name}")
)
WHOLE = ("tests/e2e", "tests/native", *SLOW, "--durations=40")
"""A file at a time, as its tests share what they build; one more than CPUs, as many wait."""
SIDE_BY_SIDE = (
    *("-n", str((os.cpu_count() or 1) + 1), "--dist", "loadfile", "--no-loadscope-reorder"),
)
LONG = "tests/nightly/long"
BUILDS, SOAK = "tests/native/test_native_builds.py", "tests/native/test_native_soak.py"
Part = tuple[tuple[str, ...], dict[str, str]]
PARTS: dict[str, tuple[Part, ...]] = {
    "check": ((QUICK, {}),),
    "test": ((QUICK, {}), ((*PROMISES.values(), *SIDE_BY_SIDE), {apart.WANTED: "1"})),
    "rest": (
        (
            (*WHOLE, *(f"--deselect={test}" for test in PROMISES.values()), *SIDE_BY_SIDE),
            {apart.WANTED: "1"},
        ),
    ),
    "nightly": (
        ((LONG, "-n", "auto", "--dist", "loadfile"), {}),
        (("tests/nightly", f"--ignore={LONG}", "--durations=20"), {}),
        ((BUILDS, "-k", "storm or sanitized"), {"NETLAB_SANITIZE": "thread"}),
        ((SOAK,), {"NETLAB_SOAK_S": "150"}),
    ),
}
"""Arguments of pytest and environment of each part."""


def main(what: str, *argv: str) -> int:
    """Run the parts, or what the arguments select; the highest exit code."""
    parts = ((argv, {}),) if argv else PARTS[what]
    done = [subprocess.run((*PYTEST, *part), env={**os.environ, **own}) for part, own in parts]
    return max(part.returncode for part in done)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(*sys.argv[1:]))
