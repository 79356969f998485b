"""The first notebook a user opens measures, explains, and measures a change of one's own."""

from __future__ import annotations

import nbformat
import notebook_page
import pytest
from face_home import home_at

import netlab
from netlab.files.paths import notebook
from netlab.notebooks.execution import execute

pytestmark = pytest.mark.timeout(600)


def test_start_here_measures_and_then_measures_a_change(tmp_path, monkeypatch):
    home_at(tmp_path, monkeypatch)
    small = {"streams": [1], "windows_B": [65536], "offloads": ["none"]}
    done = execute(notebook("00-start-here.ipynb"), tmp_path / "00.ipynb", small)
    first = nbformat.read(done, as_version=4)
    runs = netlab.Results("first-steps").runs
    assert len(runs) == 6 and set(runs["mtu_B"]) == {1500, 9000}
    # a busy machine may flag every run: then there is nothing to draw or to compare
    notebook_page.check(first, drawn=bool((runs["flags"] == "").all()))
    shown = str([cell.get("outputs", "") for cell in first.cells])
    assert "closes to the byte" in shown and "Linux64 &lt;-&gt; Linux64" in shown
    assert "memory copy" not in shown, "a copy rate of one core is not a ceiling of streams"
    more = {**small, "streams": [1, 2]}
    execute(notebook("00-start-here.ipynb"), tmp_path / "00.ipynb", more)
    assert set(netlab.Results("first-steps").runs["streams"]) == {1, 2}
