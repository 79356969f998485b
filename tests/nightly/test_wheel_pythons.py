"""The wheel on the newer Pythons that it names; `make test` has the oldest."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from e2e.installed_wheel import install, studies_in_an_empty_directory, uv


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    uv("build", "--out-dir", str(target))
    return next(target.glob("*.whl"))


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_an_installed_netlab_studies_on(version: str, built: Path, tmp_path: Path):
    # not `uv python find`: a shim of pyenv for a version that is not chosen ends it
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # tests have a HOME of their own
    pythons = [*home.glob(f".pyenv/versions/{version}.*/bin/python")]
    pythons += filter(Path.exists, [Path(f"/usr/bin/python{version}")])
    if not pythons:
        pytest.skip(f"no Python {version} on this machine")
    venv = install(built, tmp_path / "venv", offline=False, UV_PYTHON=str(pythons[-1]))
    (tmp_path / "empty").mkdir()
    studies_in_an_empty_directory(venv, tmp_path / "empty")
