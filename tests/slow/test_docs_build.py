"""``make docs``: every page and the whole API, without a warning."""

from __future__ import annotations

import re
import subprocess
import sys

import guide

import netlab

ROOT = guide.DOCS.parent


def test_the_documentation_is_built_without_a_warning_and_has_the_whole_api(tmp_path):
    make = (ROOT / "Makefile").read_text()
    (options,) = re.findall(r"/sphinx-build (.*) build/docs$", make, re.M)
    command = (sys.executable, "-m", "sphinx", *options.split(), str(tmp_path))
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=290, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    for page in guide.DOCS.glob("*.md"):
        assert (tmp_path / "docs" / f"{page.stem}.html").is_file()
    assert (tmp_path / "native" / "PROTOCOL.html").is_file()
    api = (tmp_path / "docs" / "api.html").read_text()
    shown = set(re.findall(r'<dt class="[^"]*" id="netlab\.([\w.]+)"', api))
    assert shown >= {*netlab.__all__} - {"__version__"}
    assert shown >= {"Study.plan", "Results.cells", "Results.charts"}
