"""Run the quick tests as a user with odd settings: no test may see any of them.

Each poison below breaks netlab, or changes its output, where a test sees it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from run import PYTEST, QUICK

ROOT = Path(__file__).resolve().parents[1]
BROKEN = "\0 neither YAML, JSON nor a key"


def home(place: Path) -> dict[str, str]:
    """A home directory whose cache and keys are broken."""
    for name in (".ssh/config", ".ssh/known_hosts", ".ssh/id_ed25519", ".cache/netlab"):
        file = place / "home" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(BROKEN)
    # the set-up has filled uv's cache; the test of the lock reads it
    cache = os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache" / "uv")
    return {"HOME": str(place / "home"), "UV_CACHE_DIR": cache}


def variables(place: Path) -> dict[str, str]:
    """Variables of netlab that name a directory with broken results and data."""
    (place / "netlab").mkdir()
    return {
        **{name: str(place / "netlab") for name in ("NETLAB_HOME", "NETLAB_DATA")},
        **{"NETLAB_IPERF3": "/bin/false", "XDG_CACHE_HOME": str(place / "netlab")},
    }


def programs(place: Path) -> dict[str, str]:
    """Programs, first on the PATH, that fail."""
    folder = place / "bin"
    folder.mkdir()
    for name in ("python", "python3", "ssh", "git", "ip", "gensink", "netlab"):
        (folder / name).write_text(f"#!/bin/sh\necho poisoned {name} >&2\nexit 66\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "SHELL": "/bin/false"}


def language(place: Path) -> dict[str, str]:
    """A German locale, with decimal commas, and a time zone without whole hours."""
    define = ("localedef", "-i", "de_DE", "-f", "UTF-8", str(place / "de_DE.UTF-8"))
    subprocess.run(define, check=True)
    return {"LOCPATH": str(place), "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Kathmandu"}


@contextlib.contextmanager
def broken_results() -> Iterator[None]:
    """Results of the shipped studies, where a checkout has them, that cannot be read."""
    root, made = ROOT / "data" / "results", []
    for study in (ROOT / "data" / "studies").glob("*.yml"):
        for name in (study.stem, f"{study.stem}-quick"):
            place = root / name
            if not place.exists():
                (place / "runs").mkdir(parents=True)
                (place / "runs" / "poison.parquet").write_text(BROKEN)
                made.append(place)
    try:
        yield
    finally:
        for place in made:
            (place / "runs" / "poison.parquet").unlink()
            (place / "runs").rmdir()
            place.rmdir()


def main() -> int:
    """Run the quick tests with all poisons; return pytest's exit code."""
    with tempfile.TemporaryDirectory() as place, broken_results():
        environment = dict(os.environ)
        for poison in (home, variables, programs, language):
            environment |= poison(Path(place))
        os.umask(0o077)
        return subprocess.run((*PYTEST, *QUICK), cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
