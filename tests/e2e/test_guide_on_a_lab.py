"""The commands of the guide that need hosts, in its order, from an empty directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import guide
import pytest

pytestmark = pytest.mark.e2e

BIN = Path(sys.executable).parent
WRITTEN_BELOW_GATE = ("study", "report", "bundle")
"""Commands that end with 4 where the machine is noisy."""

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


@pytest.mark.timeout(900)
def test_the_commands_of_the_guide_run_in_their_order(tmp_path, machine_untouched):
    """Hosts of the lab stand for one's own."""
    for name, text in guide.files("guide.md").items():
        on_the_lab = OWN_END.sub(r"{host: \1}", OWN_HOST.sub("{kind: lab}", text))
        assert "ssh" not in on_the_lab
        (tmp_path / name).write_text(on_the_lab)
    for command in guide.commands("guide.md", "lab"):
        done = run(command, tmp_path)
        allowed = {0, 4} if command.split()[1] in WRITTEN_BELOW_GATE else {0}
        assert done.returncode in allowed, f"{command}\n{done.stdout}\n{done.stderr}"
        if command.startswith("netlab rerun"):
            before, after = (
                tmp_path / "results" / n for n in ("first-rerun-bundle", "first-rerun")
            )
            assert done.stdout.strip() == f"netlab compare {before} {after}"
        if command.startswith("netlab verify"):
            assert "0 files differ, 0 figures differ" in done.stdout
