"""All the tests. On a machine with other guests what fails is tried once more, and that is said.

    python tests/run.py [arguments of pytest]

Tests that measure allow for what others take, but a processor that is gone for seconds can be late
for anything: an answer, a deadline, a page. On a machine of one's own nothing is tried again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FAILED = 1
"""pytest's exit code when tests ran and some failed."""
SOME_PERCENT = 0.05
"""Steal of all CPU time of the first pass: two seconds in half an hour, on two CPUs."""


def _cpu_ticks() -> tuple[int, int]:
    """Steal and all CPU time of this machine so far, in clock ticks."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[7], sum(ticks)


def main(argv: list[str]) -> int:
    """Run pytest, and its failures again if others had more than `SOME_PERCENT`; its exit code."""
    pytest = (sys.executable, "-m", "pytest")
    stolen_before, total_before = _cpu_ticks()
    code = subprocess.run((*pytest, *argv)).returncode
    stolen, total = _cpu_ticks()
    percent = 100 * (stolen - stolen_before) / max(total - total_before, 1)
    if code != FAILED or percent <= SOME_PERCENT:
        return code
    print(f"\nOther guests had {percent:.2f} % of this machine: what failed is tried once more.\n")
    sys.stdout.flush()
    return subprocess.run((*pytest, *argv, "--last-failed")).returncode


if __name__ == "__main__":
    os.chdir(Path(__file__).parent.parent)
    sys.exit(main(sys.argv[1:]))
