"""Wings: found by their entry points, and a whole one of another package, as the docs show it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import guide
import pytest

from netlab import wings
from netlab.cli.main import CORE, main

PAGE = guide.DOCS / "wings.md"


def install(folder: Path, files: dict[str, str]) -> dict[str, str]:
    """Write what an installer writes, and return the environment that finds it."""
    project = tomllib.loads(files["pyproject.toml"])["project"]
    (folder / f"{next(name for name in files if name.endswith('.py'))}").write_text(
        next(text for name, text in files.items() if name.endswith(".py")), encoding="utf-8"
    )
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(head)
    lines = [f"{k} = {v}" for k, v in project["entry-points"]["netlab.wings"].items()]
    (about / "entry_points.txt").write_text("\n".join(["[netlab.wings]", *lines, ""]))
    return {**os.environ, "PYTHONPATH": str(folder)}


def netlab(*words: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "netlab", *words]
    return subprocess.run(argv, capture_output=True, text=True, env=env, cwd=cwd)


def shown_files() -> dict[str, str]:
    """The files of the docs' package by their names."""
    found = re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    return dict(found)


def test_the_line_of_a_command_in_the_help_is_the_beginning_of_its_own_help():
    for name, listed in {**CORE, **wings.commands()}.items():
        whole = click.Command(name, help=main.commands[name].help)
        assert whole.get_short_help_str(10_000) == listed.summary, name


def test_a_wing_of_another_package_reads_a_file_and_adds_a_page(tmp_path):
    folder, home = tmp_path / "packages", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    env = {**install(folder, shown_files()), "NETLAB_HOME": str(home)}
    (home / "tcpkali.txt").write_text(
        "Aggregate bandwidth: 9360.0↓, 0.1↑ Mbps\nTest duration: 4 s.\n"
    )
    words = ("--study-name", "mine", "--sender", "a", "--receiver", "b", "--mtu", "1500")
    words += ("--started-at", "mtime")
    done = netlab("import", "tcpkali.txt", *words, env=env, cwd=home)
    assert done.returncode == 0, done.stderr
    code = (
        "import netlab\n"
        "from netlab.analysis.measured import load_measured\n"
        "from netlab.report.pages import measured_pages\n"
        f"m = load_measured({str(home / 'results' / 'mine')!r})\n"
        "print(m.runs['goodput_MBps'].tolist())\n"
        "print([(p.file, '1170.0' in p.body) for p in measured_pages(m) if 'tcpkali' in p.file])\n"
    )
    argv = [sys.executable, "-c", code]
    shown = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=home)
    assert shown.stdout.splitlines() == ["[1170.0]", "[('tcpkali-runs.html', True)]"], shown.stderr


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("raise ImportError('no libtrex')", "E-WING-001"),
        ("wing = 1", "E-WING-002"),
        (
            "from netlab.wings import Command, Wing\n"
            "wing = Wing(commands={'fleet': Command('a:b', 'Another.')})",
            "E-WING-004",
        ),
        (
            "from netlab.wings import Command, Wing\n"
            "wing = Wing(commands={'run': Command('a:b', 'Another.')})",
            "E-WING-005",
        ),
    ],
    ids=["broken", "other object", "name of a wing", "name of the core"],
)
def test_a_wing_that_cannot_be_used_is_an_error_that_names_it(tmp_path, module, code):
    project = '[project]\nname = "trex"\nversion = "1"\n'
    project += '[project.entry-points."netlab.wings"]\ntrex = "netlab_trex:wing"\n'
    env = install(tmp_path, {"pyproject.toml": project, "netlab_trex.py": module})
    done = netlab("--help", env=env, cwd=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "trex" in line or "run" in line
    assert line.endswith(f"[{code}]")
    assert netlab("check", "--help", env=env, cwd=tmp_path).returncode == 0
