"""A wheel of netlab, installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from e2e.conftest import ROOT, measured_through, small_study

from netlab.results.store import Store

UV = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")


def uv(*argv: str, offline: bool = True, **environment: str) -> None:
    """Run uv with the Python of the set-up, and offline only what that has fetched."""
    done = subprocess.run(
        (UV, *argv, "--quiet", *(["--offline"] if offline else [])),
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "UV_PYTHON": sys.executable, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


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
