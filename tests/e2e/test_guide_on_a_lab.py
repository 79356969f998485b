"""The commands of the guide that need hosts, in its order, from an empty directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import guide
import pytest

from tests.e2e.conftest import below_gate, measured_through

pytestmark = [pytest.mark.e2e, pytest.mark.beside]

BIN = Path(sys.executable).parent
MEASURING, WRITING = ("study", "run", "rerun"), ("report", "bundle")
"""Commands that may end with 1 or 4 where the machine is noisy, and with 4."""

ANY_NOISE = "noise: {steal_percent: 100, foreign_cpu_percent: 100}\n"
"""Guests of the same machine must not empty the cells that are compared."""

SHORT_RUNS = ("seconds: 0.5}", "seconds: 0.2, warmup_s: 0.1, interval_ms: 20}")
"""Times of a run as the guide has them, and as they are here: the commands are what is tested."""

OWN_HOST = re.compile(r"\{kind: ssh, address: [^}]*\}")
OWN_END = re.compile(r"\{host: (\w+), address: [^}]*\}")


def run(command: str, place: Path) -> subprocess.CompletedProcess:
    """A command as a user types it."""
    path = os.pathsep.join([str(BIN), os.environ["PATH"], "/usr/sbin", "/sbin"])
    return subprocess.run(
        ("sh", "-c", command),
        cwd=place,
        env={**os.environ, "NETLAB_HOME": str(place), "PATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.timeout(1800)
def test_the_commands_of_the_guide_run_in_their_order(tmp_path, machine_untouched):
    """Hosts of the lab stand for one's own."""
    for name, text in guide.files("guide.md").items():
        on_the_lab = OWN_END.sub(r"{host: \1}", OWN_HOST.sub("{kind: lab}", text))
        assert "ssh" not in on_the_lab and on_the_lab.count(SHORT_RUNS[0]) == 1
        (tmp_path / name).write_text(on_the_lab.replace(*SHORT_RUNS) + ANY_NOISE)
    for command in guide.commands("guide.md", "lab"):
        done = run(command, tmp_path)
        verb = command.split()[1]
        if verb in MEASURING:
            measured_through(done)
        elif not (verb in WRITING and below_gate(done)):
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        if command.startswith("netlab rerun"):
            before, after = (
                tmp_path / "results" / n for n in ("first-rerun-bundle", "first-rerun")
            )
            assert done.stdout.strip() == f"netlab compare {before} {after}"
        if command.startswith("netlab verify"):
            assert "0 files differ, 0 figures differ" in done.stdout
