"""A backend of another environment does not end a command that draws."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

IPYMPL = "module://ipympl.backend_nbagg"

CODE = """
import os
from netlab.cli.guard import guarded

def draw():
    import matplotlib
    print(os.environ.get("MPLBACKEND"))

guarded(draw, needs_limits=False)()
"""


@pytest.mark.parametrize(
    ("backend", "kept"),
    [
        (IPYMPL, IPYMPL if importlib.util.find_spec("ipympl") else "None"),
        ("module://no_such_package.backend", "None"),
        ("module://matplotlib.backends.backend_svg", "module://matplotlib.backends.backend_svg"),
        ("agg", "agg"),
    ],
)
def test_a_backend_that_is_not_installed_is_left_out(backend, kept):
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "MPLBACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{kept}\n"), done.stderr
