"""Executed notebooks as files of a site: without times, random ids and machine paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TIMES = ("papermill", "execution")
"""Metadata of a notebook or a cell with the times of its execution and absolute paths."""

INJECTED = "injected-parameters"
"""Tag of the cell that papermill adds; its id is random."""


def plain(content: dict[str, Any]) -> dict[str, Any]:
    """A notebook that is the same whenever it was executed, if its outputs are."""
    cells = [_plain_cell(cell) for cell in content.get("cells", [])]
    return {**content, "cells": cells, "metadata": _without_times(content.get("metadata", {}))}


def _plain_cell(cell: dict[str, Any]) -> dict[str, Any]:
    metadata = _without_times(cell.get("metadata", {}))
    found = {**cell, "metadata": metadata}
    if INJECTED in metadata.get("tags", ()) and "id" in cell:
        found["id"] = INJECTED
    return found


def _without_times(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key not in TIMES}


def copy_plain(source: Path, target: Path) -> None:
    """Copy an executed notebook as :func:`plain` has it."""
    content = plain(json.loads(source.read_text(encoding="utf-8")))
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    target.write_text(text, encoding="utf-8")
