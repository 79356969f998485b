"""A netlab process that tests start, and may kill, as a controller."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def start_controller(argv: Sequence[str], *, home: Path, cwd: Path) -> subprocess.Popen[str]:
    """Start a command in a session of its own, with a home directory and pipes for its output."""
    return subprocess.Popen(
        list(argv),
        env={**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
