"""The first notebook a user opens runs top to bottom, and what it shows is true."""

from __future__ import annotations

from pathlib import Path

import nbformat

from netlab.files.paths import notebook
from netlab.notebooks.execution import execute


def test_start_here_moves_bytes_and_its_ledger_closes(tmp_path: Path):
    done = nbformat.read(
        execute(notebook("00-start-here.ipynb"), tmp_path / "00.ipynb", {}), as_version=4
    )
    shown = str([cell.get("outputs", "") for cell in done.cells])
    assert "closes to the byte" in shown
    assert "MB/s memory copy" in shown
    assert "Linux64 <-> Linux64" in shown
    assert not any(
        output["output_type"] == "error"
        for cell in done.cells
        for output in cell.get("outputs", [])
    )
