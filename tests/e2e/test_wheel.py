"""The wheel: built from the sdist, installed alone, run from an empty directory."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from e2e.conftest import ROOT
from e2e.installed_wheel import files_of, install, run, studies_in_an_empty_directory, uv
from tracked_files import tracked


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
