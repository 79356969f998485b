"""The wheel: built from the sdist, installed alone, run from an empty directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from test_architecture import tracked

from netlab.results.store import Store
from tests.e2e.conftest import ROOT, measured_through, small_study

UV = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")


def uv(*argv: str, offline: bool = True, **environment: str) -> None:
    """Run uv with the Python of the set-up, and offline only what that has fetched."""
    done = subprocess.run(
        (UV, *argv, "--quiet", *(["--offline"] if offline else [])),
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "UV_PYTHON": sys.executable, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from the sdist as `uv build` does."""
    target = tmp_path_factory.mktemp("dist")
    uv("build", "--out-dir", str(target))
    assert len(list(target.glob("netlab-*.tar.gz"))) == 1
    (built,) = target.glob("netlab-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory) -> Path:
    """A fresh environment with the wheel and the locked versions of what it needs."""
    return install(wheel, tmp_path_factory.mktemp("installed") / "venv")


def install(wheel: Path, venv: Path, *, offline: bool = True, **environment: str) -> Path:
    # by the addresses of the lock: the cache has no index of versions
    locked = ("sync", "--frozen", "--no-dev", "--no-install-project")
    uv(*locked, offline=offline, UV_PROJECT_ENVIRONMENT=str(venv), **environment)
    uv("pip", "install", "--no-deps", "--python", str(venv / "bin" / "python"), str(wheel))
    return venv


def run(venv: Path, cwd: Path, *argv: str) -> subprocess.CompletedProcess:
    """The installed command, without variables or paths of the checkout."""
    hidden = ("NETLAB_", "PYTHON", "VIRTUAL_ENV")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    done = subprocess.run(
        (venv / "bin" / "python", venv / "bin" / "netlab", *argv),
        cwd=cwd,
        env={**kept, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert str(ROOT) not in done.stdout + done.stderr
    return done


def files_of(venv: Path) -> dict[str, int]:
    """Every file of the installed package except byte code, with its time of change."""
    (package,) = venv.glob("lib/python3*/site-packages/netlab")
    return {
        str(path): path.stat().st_mtime_ns
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def test_the_wheel_is_for_every_python_and_holds_what_netlab_needs(wheel: Path):
    assert "-cp311-abi3-" in wheel.name
    archive = zipfile.ZipFile(wheel)
    names = set(archive.namelist())
    (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    assert b"Requires-Dist: snakemake<10,>=9; extra == 'fleet'" in archive.read(metadata).replace(
        b'"', b"'"
    )
    files = [path for folder in ("data", "notebooks", "docs") for path in tracked(folder)]
    assert len(files) > 30
    for path in files:
        name = str(path.relative_to(ROOT))
        assert f"netlab/_data/{name.removeprefix('data/')}" in names
    assert {"netlab/_data/uv.lock", "netlab/_data/CITATION.cff"} <= names
    assert {"netlab/_data/docs/PROTOCOL.md", "netlab/_data/docs/CONTRIBUTING.md"} <= names
    assert {"netlab/_core.abi3.so", "netlab/_bin/gensink", "netlab/_src/BUILD"} <= names
    templates = ROOT / "netlab" / "report" / "templates"
    for path in templates.rglob("*"):
        if path.is_file():
            assert str(path.relative_to(ROOT)) in names


def test_an_installed_netlab_measures_in_an_empty_directory(
    installed: Path, tmp_path: Path, machine_untouched
):
    studies_in_an_empty_directory(installed, tmp_path)


def studies_in_an_empty_directory(installed: Path, tmp_path: Path) -> None:
    before = files_of(installed)
    content = small_study("small")
    content |= {"groups": content["groups"][:1], "tunings": content["tunings"][:1], "streams": [1]}
    (tmp_path / "mine.yml").write_text(yaml.safe_dump(content, sort_keys=False))
    checked = run(installed, tmp_path, "check", "mine.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = run(installed, tmp_path, "study", "mine.yml", "--quick")
    measured_through(done)
    results, site = tmp_path / "results" / "small-quick", tmp_path / "site"
    assert done.stdout.splitlines()[-1] == str(site / "index.html")
    missing = "netlab: no PDF: typst, which makes it and figures as PNG, is not installed: pip in"
    assert missing in done.stderr and "No PDF: typst" in (site / "index.html").read_text()
    assert not [*site.glob("*.pdf"), *site.rglob("*.png")]
    runs = Store(results).runs()
    assert len(runs) == 1
    assert (runs["sent_B"] == runs["received_B"]).all()
    assert {path.name for path in tmp_path.iterdir()} == {"mine.yml", "results", "site"}
    assert files_of(installed) == before


def test_an_installed_netlab_has_its_guide_studies_and_notebooks(installed: Path, tmp_path: Path):
    before = files_of(installed)
    for page, title in (("study", "Writing a study"), ("protocol", "The protocol of gensink")):
        done = run(installed, tmp_path, "guide", page)
        assert done.returncode == 0, done.stderr
        assert title in done.stdout
    done = run(installed, tmp_path, "run", "openlab-2033")
    assert done.returncode == 2
    assert "openlab-2003" in done.stderr
    assert not list(tmp_path.iterdir())
    assert run(installed, tmp_path, "notebooks").returncode == 0
    copied = {path.name for path in (tmp_path / "notebooks").glob("*.ipynb")}
    assert copied == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert files_of(installed) == before
