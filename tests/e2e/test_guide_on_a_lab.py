"""The commands of the guide that need hosts, from an empty directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import guide
import pytest

from tests.e2e.conftest import ANY_NOISE, below_gate, measured_through

BIN = Path(sys.executable).parent
HERE = (
    "netlab study first.yml",
    "netlab results list first",
    "netlab compare first --by mtu_B=1500,9000",
    "netlab hosts clean mine.yml",
)
ELSEWHERE = {
    **dict.fromkeys(("check", "tune", "run", "report"), "test_study_runs.py"),
    **dict.fromkeys(("bundle", "verify"), "../slow/test_bundle.py"),
    **dict.fromkeys(("rerun", "compare"), "test_rerun.py"),
    **{"study": "test_guide_on_a_lab.py"},
}
"""Commands that this file does not run -> the file that does."""

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


def test_every_command_of_the_guide_is_run():
    commands = guide.commands("guide.md", "lab")
    assert set(HERE) <= set(commands)
    assert {command.split()[1] for command in commands if command not in HERE} == set(ELSEWHERE)
    assert all((Path(__file__).parent / name).is_file() for name in ELSEWHERE.values())


@pytest.mark.timeout(600)
def test_commands_of_the_guide_run_in_their_order(tmp_path, machine_untouched):
    """Hosts of the lab stand for one's own."""
    for name, text in guide.files("guide.md").items():
        on_the_lab = OWN_END.sub(r"{host: \1}", OWN_HOST.sub("{kind: lab}", text))
        assert "ssh" not in on_the_lab and on_the_lab.count(SHORT_RUNS[0]) == 1
        (tmp_path / name).write_text(on_the_lab.replace(*SHORT_RUNS) + f"noise: {ANY_NOISE}\n")
    for command in HERE:
        done = run(command, tmp_path)
        if command == HERE[0]:
            measured_through(done)
        else:
            assert done.returncode == 0 or below_gate(done), f"{command}\n{done.stderr}"
