"""Facts stated in several files agree; the set-up warns before it builds."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
import run
import yaml
from tracked_files import tracked

import netlab
from netlab import core
from netlab.cli import main as cli

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = tomllib.loads((ROOT / "uv.lock").read_text())
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
README = (ROOT / "README.md").read_text()

CONDA_NAMES = {"matplotlib": "matplotlib-base", "ruamel-yaml": "ruamel.yaml", "typst": "typst-py"}
"""Packages that conda-forge calls otherwise; matplotlib there also brings a Qt."""

CONDA_ONLY = {"python", "pip", "c-compiler", "cmake", "ninja", "make"}
"""Requirements that pip takes from the system."""

REQUIREMENT = re.compile(
    r"(?P<name>[a-z0-9._-]+)(\[(?P<extras>[a-z,]+)\])?(?P<bound>>=[0-9.]+(,<[0-9.]+)?)?"
)


def bounds(requirements: list[str]) -> dict[str, str]:
    """Name to lower bound of requirements; anything but a lower bound is an error."""
    found = {}
    for requirement in requirements:
        match = REQUIREMENT.fullmatch(requirement)
        assert match and "," not in (match["bound"] or ""), (
            f"{requirement!r} is not a name with a lower bound"
        )
        assert match["name"] not in found, f"{match['name']} is listed twice"
        found[match["name"]] = match["bound"] or ""
    return found


def test_conda_and_pip_install_the_same_packages_from_the_same_versions_on():
    pdf = PYPROJECT["project"]["optional-dependencies"]["pdf"]
    wanted = bounds(PYPROJECT["project"]["dependencies"] + pdf)
    assert bounds(pdf).items() <= bounds(PYPROJECT["dependency-groups"]["dev"]).items()
    wanted = {CONDA_NAMES.get(name, name): bound for name, bound in wanted.items()}
    conda = bounds([line for line in CONDA["dependencies"] if isinstance(line, str)])
    listed = {name: bound for name, bound in conda.items() if name not in CONDA_ONLY}
    assert listed == wanted
    assert all(listed.values())
    assert set(conda) >= CONDA_ONLY
    assert conda["python"] == PYPROJECT["project"]["requires-python"]
    assert conda["cmake"] == PYPROJECT["tool"]["scikit-build"]["cmake"]["version"]


def test_conda_installs_the_checkout_itself_and_no_other_package_through_pip():
    (through_pip,) = (line["pip"] for line in CONDA["dependencies"] if isinstance(line, dict))
    assert through_pip == ["-e ."]
    assert CONDA["name"] == "netlab"
    assert CONDA["channels"] == ["conda-forge", "nodefaults"]


def test_the_lock_is_of_this_pyproject():
    uv = shutil.which("uv") or ROOT / ".uv" / "bin" / "uv"
    check = [uv, "lock", "--check", "--offline", "--project", str(ROOT)]
    done = subprocess.run(check, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_package_of_the_lock_comes_from_pypi_with_a_hash():
    for package in LOCK["package"]:
        if package["name"] == "netlab":
            continue
        assert package["source"] == {"registry": "https://pypi.org/simple"}, package["name"]
        files = [*package.get("wheels", ()), *filter(None, [package.get("sdist")])]
        assert files
        assert all(file["hash"].startswith("sha256:") for file in files), package["name"]


def test_one_version_everywhere():
    (own,) = (package for package in LOCK["package"] if package["name"] == "netlab")
    version = PYPROJECT["project"]["version"]
    assert netlab.__version__ == version
    assert core.version() == version
    assert CITATION["version"] == version
    assert own["version"] == version
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## (\d+\.\d+\.\d+)", changes, re.M)[1] == version


def test_the_citation_is_valid_and_names_who_and_under_what_licence():
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["authors"] == PYPROJECT["project"]["authors"]
    assert CITATION["license"] == PYPROJECT["project"]["license"] == "Apache-2.0"
    assert CITATION["type"] == "software"
    assert CITATION["keywords"] == PYPROJECT["project"]["keywords"]
    assert CITATION["message"]
    assert CITATION["title"].startswith("netlab")
    known = {"cff-version", "message", "title", "abstract", "type", "version", "license"}
    known |= {"authors", "keywords", "date-released"}
    assert set(CITATION) <= known
    licence = (ROOT / "LICENSE").read_text()
    assert "Apache License" in licence
    assert "Version 2.0" in licence


def test_make_alone_shows_the_help_which_has_every_make_command_of_the_readme():
    assert ".DEFAULT_GOAL := help" in (ROOT / "Makefile").read_text()
    make = ["make", "--no-print-directory", "-C", str(ROOT)]
    done = subprocess.run(make, capture_output=True, text=True, timeout=30, check=True)
    targets = set(re.findall(r"^  make (\w+)", done.stdout, re.M))
    named = {name for part in code(README) for name in re.findall(r"\bmake ([a-z]+)", part)}
    assert {"study", "test"} <= named <= targets
    assert targets >= {"help", "notebook", "clean"}


def test_make_notebook_opens_the_checkout_with_the_copy_of_the_notebooks_in_it():
    make = ["make", "--no-print-directory", "-n", "-C", str(ROOT), "notebook"]
    lines = subprocess.run(make, capture_output=True, text=True, timeout=30, check=True).stdout
    words = shlex.split(lines.replace("\\\n", " "))
    assert f"--ServerApp.root_dir={ROOT}" in words
    assert "--LabApp.default_url=/lab/tree/work/00-start-here.ipynb" in words


def code(text: str) -> list[str]:
    """Code of a Markdown text: fenced blocks and what stands between backquotes."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
    rest = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.M | re.S)
    return [*fenced, *re.findall(r"`([^`\n]+)`", rest)]


def test_every_netlab_command_of_the_readme_exists():
    lines = [line for part in code(README) for line in part.splitlines()]
    commands = [line.split()[1:] for line in lines if line.startswith("netlab ")]
    assert commands
    for words in commands:
        place = cli.main
        for word in words:
            if not isinstance(place, click.Group):
                break
            assert word in place.commands, f"netlab {' '.join(words)}"
            place = place.commands[word]


def test_the_readme_is_short_and_gives_the_command_before_it_is_used():
    lines = README.splitlines()
    assert len(lines) <= 100 and max(map(len, lines)) <= 120
    shell = [line for part in code(README) for line in part.splitlines()]
    first = next(n for n, line in enumerate(shell) if line.startswith("netlab "))
    assert any(line.startswith(". .venv/bin/activate") for line in shell[:first])
    assert any(line.startswith("pip install ") for line in shell)


def test_every_file_that_the_readme_names_exists():
    for name in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / name).exists(), name
    for name in ("notebooks/", "netlab/", "native/", "data/", "tests/", "LICENSE", "CITATION.cff"):
        assert f"`{name}`" in README
        assert (ROOT / name).exists()


def test_every_source_file_that_a_page_or_a_comment_of_the_core_names_exists():
    named = re.compile(r"(?<![\w/.-])(?:netlab|native|tests)/[\w/]+\.(?:py|c|h)\b")
    files = [*tracked("*.md"), *tracked("*.rst"), *tracked("native/*.[ch]")]
    for file in files:
        if file.name != "CHANGELOG.md":
            for name in named.findall(file.read_text("utf-8")):
                assert (ROOT / name).is_file(), f"{file.relative_to(ROOT)}: {name}"


def test_the_study_of_the_readme_is_a_study(tmp_path):
    from netlab.study import load

    (text,) = re.findall(r"^```yaml\n(.*?)^```", README, re.M | re.S)
    path = tmp_path / "mine.yml"
    path.write_text(text)
    study = load(path)
    assert study.name == "mine"
    assert [(level.name, level.mtus_B) for level in study.tunings] == [("as-found", None)]
    assert all(not study.tuning_profile(host, "as-found").items for host in study.hosts)
    short = load(path, quick=True)
    assert short.name == "mine-quick"
    assert short.timing.seconds < study.timing.seconds


def test_the_scripts_of_ci_parse_and_run_the_readmes_test_command():
    for script in (".ci/run", ".ci/setup", ".ci/wheel"):
        path = ROOT / script
        assert os.access(path, os.X_OK)
        shell = path.read_text().splitlines()[0].split("/")[-1].split()[-1]
        subprocess.run([shell, "-n", str(path)], check=True, timeout=30)
    assert re.search(r"^exec make test-all$", (ROOT / ".ci" / "run").read_text(), re.M)
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^test-all: test .*\n\t@\$\(TESTS\) rest$", makefile, re.M)


def test_the_tests_of_promises_exist_and_the_rest_leaves_out_no_other():
    """A renamed test would leave the first tier without a word, as --deselect takes any name."""
    tests = [test.partition("::") for test in run.PROMISES.values()]
    for path, _, name in tests:
        function = name.partition("[")[0]
        assert f"def {function}(" in (ROOT / path).read_text() or not function, path
    ((rest, _),) = run.PARTS["rest"]
    left_out = [word.removeprefix("--deselect=") for word in rest if word.startswith("--deselect")]
    assert left_out == list(run.PROMISES.values())
    assert set(run.WHOLE) < set(rest)


def test_an_installation_gets_all_the_data_that_are_tracked_and_no_results():
    packages = PYPROJECT["tool"]["scikit-build"]["wheel"]["packages"]
    assert packages.pop("netlab") == "netlab"
    assert all(name == f"netlab/_data/{Path(name).name}" for name in packages)
    for path in (*tracked("data"), *tracked("notebooks")):
        name = path.relative_to(ROOT)
        assert any(name.is_relative_to(folder) for folder in packages.values()), name
    assert not any(folder.startswith("data/results") for folder in packages.values())


@pytest.fixture
def set_up(tmp_path):
    """Run the set-up as a user of that id; only these programs are on the machine."""
    tree, programs = tmp_path / "tree", tmp_path / "bin"
    for folder in (tree / ".ci", tree / "native", tree / "netlab", programs):
        folder.mkdir(parents=True)
    for name in ("setup", "jupyter_server_config.py"):
        shutil.copy(ROOT / ".ci" / name, tree / ".ci" / name)
    for name in ("uv.lock", "pyproject.toml"):
        (tree / name).write_text(name)
    system = ("sh", "cat", "cut", "dirname", "head", "sha256sum", "sort", "tr", "xargs", "mkdir")
    for name in system:
        (programs / name).symlink_to(shutil.which(name))

    def program(name: str, body: str) -> None:
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)

    program("uv", 'echo building; echo "with ${UV_PYTHON:-any}"; echo "$@"; mkdir -p .venv')
    program("find", "echo pyproject.toml")
    for name in ("cc", "make", "python3", "clang-14"):
        program(name, "exit 0")

    def run(
        user_id: int,
        *installed: str,
        what: str = "study",
        unshare: str = "true",
        system_python: str = "exit 0",
        absent: tuple[str, ...] = (),
        **environment: str,
    ) -> subprocess.CompletedProcess:
        program("id", f"echo {user_id}")
        for name in installed:
            program(name, unshare if name == "unshare" else "exit 0")
        for name in absent:
            (programs / name).unlink()
        text = (ROOT / ".ci" / "setup").read_text()
        # the machine's own programs stay out of it
        program("system-python", system_python)
        for own, instead in (
            ("PATH=$PATH:/usr/sbin:/sbin\n", ""),
            ("=/usr/bin/python3\n", "=system-python\n"),
        ):
            assert text.count(own) == 1
            text = text.replace(own, instead)
        (tree / ".ci" / "setup").write_text(text)
        return subprocess.run(
            [str(programs / "sh"), ".ci/setup", what],
            cwd=tree,
            env={"PATH": str(programs), **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


LAB = ("ip", "tc", "ethtool", "sshd", "ssh-keygen", "unshare", "ping", "traceroute")


WHOLE = (*LAB, "nsenter", "hostname")
NO_HEADERS = 'case "$2" in *Python.h*) exit 1;; esac'
OLD = 'case "$2" in *version_info*) exit 1;; esac'
NO_ROOT = (
    *("not running as root", "lab of network namespaces", "openlab-2003", "tuning"),
    "will work: studies of hosts reached over SSH",
    "apt-get install -y --no-install-recommends ethtool hostname iproute2",
)
NO_BPF = (
    *("without BPF congestion controls, which slac-2003 needs", "Missing packages: clang"),
    "for conda clang, libbpf, elfutils",
)
SAID = {
    "without root": ((1000,), {}, NO_ROOT, "ready"),
    "user namespaces": ((1000, *WHOLE), {}, ["in a user namespace."], "ready"),
    "no user namespaces": (
        (1000, *WHOLE), {"unshare": "false"}, ["refuses user namespaces."], "ready",
    ),
    "tests without root": ((1000,), {"what": "test"}, ["tests of the lab and of tuning"], ""),
    "no clang": ((1000,), {"absent": ("clang-14",)}, NO_BPF, "ready"),
    "as root": ((0, *LAB), {}, [], "ready"),
    "the distribution's Python": ((0, *LAB), {}, [], "with system-python\n"),
    "one that is too old": ((0, *LAB), {"system_python": OLD}, [], "with any\n"),
    "the Python of the environment": ((0, *LAB), {"UV_PYTHON": "3.13"}, [], "with 3.13\n"),
    "a Python with headers": (
        (1000, *LAB), {"system_python": NO_HEADERS}, [], "with any\n",
    ),
}  # fmt: skip
"""User and programs, other words, what is said before the build, and what after."""


@pytest.mark.parametrize("case", SAID)
def test_the_set_up_says_before_it_builds_what_will_not_work(set_up, case):
    words, more, before, after = SAID[case]
    done = set_up(*words, **more)
    assert after == "" or done.returncode == 0, done.stderr
    first, _, rest = done.stdout.partition("\nbuilding\n")
    assert [text for text in before if text not in first] == []
    assert after in rest
    assert ("root" in done.stdout) == (words[0] != 0)
    assert "apt-get" not in done.stdout or set(WHOLE) - set(words)


def test_a_study_installs_what_it_needs_and_keeps_what_others_have_installed(set_up, tmp_path):
    study = set_up(1000, *LAB).stdout
    assert "--no-default-groups --extra pdf" in study
    assert "--inexact" in study  # else uv would uninstall a user's wings
    assert "--group" not in study and "fleet" not in study
    dev = set_up(1000, *LAB, what="dev").stdout
    assert "--group dev --group docs" in dev and "fleet" not in dev
    there = tmp_path / "tree" / ".venv" / "bin"
    there.mkdir(parents=True)
    for program in ("mypy", "snakemake"):
        (there / program).touch(0o755)
    study = set_up(1000, *LAB).stdout
    assert "--group dev --extra fleet" in study and "--group docs" not in study


def test_what_the_lab_and_the_build_need_is_asked_for(set_up):
    """Installed as root where there is apt, which this machine has not."""
    done = set_up(0, *LAB[:-1])
    assert done.returncode == 1
    assert "traceroute" in done.stderr and "building" not in done.stdout
    done = set_up(0, *LAB, system_python=NO_HEADERS)
    assert done.returncode == 1
    assert "install the equivalent of these Debian packages: python3-dev" in done.stderr
