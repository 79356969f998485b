"""Wings: found by their entry points, and a whole one of another package, as the docs show it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from foreign_wings import install, shown_files

from netlab import wings
from netlab.cli.main import CORE, main


def netlab(*words: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "netlab", *words]
    return subprocess.run(argv, capture_output=True, text=True, env=env, cwd=cwd)


def test_the_line_of_a_command_in_the_help_is_the_beginning_of_its_own_help():
    for name, listed in {**CORE, **wings.commands()}.items():
        whole = click.Command(name, help=main.commands[name].help)
        assert whole.get_short_help_str(10_000) == listed.summary, name


OFFERED = {
    "bundle": "bundle publish rerun verify",
    "fleet": "Fleet fleet",
    "imports": "import import_files",
    "longpath": "",
    "openlab": "claims document load_published",
    "qualify": "bench calibrate",
    "search": "autotune mlrsearch screen",
    "survey": "init measure",
}
"""Commands and attributes of `import netlab`."""


def test_each_wing_offers_the_commands_and_names_that_people_know():
    for name, wing in wings.wings().items():
        if name in OFFERED:
            assert sorted({*wing.commands, *wing.names}) == OFFERED[name].split()


def test_a_wing_of_another_package_reads_a_file_and_adds_a_page(tmp_path):
    folder, home = tmp_path / "packages", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    env = {**install(folder, shown_files("netlab-tcpkali")), "NETLAB_HOME": str(home)}
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


STUDY = """
netlab: 1
name: mine
title: Mine
hosts: {{left: {{kind: lab}}, right: {{kind: lab}}}}
paths: {{cable: {{ends: [{{host: left}}, {{host: right}}]}}}}
groups: [{{name: a, path: cable, sender: left, generator: {generator}}}]
streams: [{streams}]
"""


@pytest.mark.parametrize(
    ("generator", "streams", "text"),
    [
        ("qperf", 4, "qperf runs at most 1 streams, not 4"),
        ("qperv", 1, "or one that an installed wing offers"),
    ],
)
def test_a_study_asks_for_a_generator_of_another_package(tmp_path, generator, streams, text):
    env = install(tmp_path, shown_files("netlab-qperf"))
    (tmp_path / "mine.yml").write_text(STUDY.format(generator=generator, streams=streams))
    done = netlab("run", "mine.yml", env=env, cwd=tmp_path)
    assert done.returncode == 2 and text in done.stderr, done
    assert "'qperf'" in done.stderr or streams == 4
    schema = netlab("schema", env=env, cwd=tmp_path)
    assert '"qperf"' in schema.stdout


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("wing = Wing(generators={'iperf3': 'netlab_trex:TOOL'})", "E-WING-005"),
        ("wing = Wing(generators={'trex': 'netlab_trex:TOOL'})\nTOOL = 1", "E-TOOL-060"),
    ],
)
def test_a_generator_that_cannot_be_used_is_an_error_that_names_it(tmp_path, module, code):
    project = '[project]\nname = "trex"\nversion = "1"\n'
    project += '[project.entry-points."netlab.wings"]\ntrex = "netlab_trex:wing"\n'
    files = {
        "pyproject.toml": project,
        "netlab_trex.py": f"from netlab.wings import Wing\n{module}",
    }
    env = install(tmp_path, files)
    show = "import netlab.generators as g; g.tool_named('trex')"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, env=env)
    assert done.returncode == 1 and "trex" in done.stderr, done
    if code == "E-WING-005":
        shown = netlab("schema", env=env, cwd=tmp_path)
        assert shown.stderr.endswith(f"[{code}]\n"), shown
    else:
        assert "is not a netlab.generators.Tool of the name trex" in done.stderr
