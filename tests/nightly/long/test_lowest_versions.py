"""The lowest version that pyproject.toml allows of each dependency, of the build's too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from run import QUICK_TESTS

ROOT = Path(__file__).resolve().parents[3]
UV = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
RUNNERS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "jsonschema", "pyyaml")
REPORTS = ("tests/report/slow/test_report.py", "tests/notebooks/slow/test_notebooks.py")


@pytest.fixture(scope="module")
def checkout() -> Iterator[Path]:
    """A clone with an environment of those versions in `.venv`, and netlab built in it."""
    with tempfile.TemporaryDirectory(prefix="netlab-lowest-") as directory:
        Path(directory).chmod(0o755)  # some tests run it as another user
        yield built(Path(directory, "netlab"))


def built(clone: Path) -> Path:
    done(["git", "clone", "-q", ROOT, clone], ROOT)
    for name in ("pyproject.toml", "uv.lock"):  # as they are, committed or not
        shutil.copy(ROOT / name, clone)
    (clone / ".uv/bin").mkdir(parents=True)  # where the set-up puts it
    (clone / ".uv/bin/uv").symlink_to(UV)
    build = tomllib.loads((clone / "pyproject.toml").read_text())["build-system"]["requires"]
    done([UV, "venv", "-q", "--python", sys.executable, clone / ".venv"], clone)
    lowest = (UV, "pip", "install", "-q", "--resolution", "lowest-direct")
    done([*lowest, "-r", "pyproject.toml", "--extra", "pdf", "--extra", "mlrsearch", *build], clone)
    done([UV, "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", "."], clone)
    done([UV, "pip", "install", "-q", *RUNNERS], clone)
    return clone


def done(words: list[object], directory: Path) -> str:
    path = f"{directory / '.venv/bin'}:{os.environ['PATH']}"
    own = {**os.environ, "VIRTUAL_ENV": str(directory / ".venv"), "PATH": path}
    ended = subprocess.run(list(map(str, words)), cwd=directory, env=own, capture_output=True)
    output = (ended.stdout + ended.stderr).decode(errors="replace")
    assert ended.returncode == 0, output[-5000:]
    return output


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "tests",
    [QUICK_TESTS, REPORTS],
    ids=["quick", "reports and notebooks"],
)
def test_the_lowest_versions_pass(checkout, tests):
    output = done(
        [checkout / ".venv/bin/python", "-m", "pytest", "-q", "-n", "2", *tests], checkout
    )
    assert " passed" in output
