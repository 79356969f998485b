"""The first cell of a notebook of the documents is quick."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys, netlab
netlab.check_parameters({})
netlab.claims()
print([name for name in ("seaborn", "scipy", "papermill") if name in sys.modules])
"""


def test_claims_load_what_they_need_alone():
    argv = [sys.executable, "-c", CODE]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
