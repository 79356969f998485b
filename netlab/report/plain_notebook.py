"""Executed notebooks as files of a site: without times, random ids and machine paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from netlab.files.bounded_json import read_json

TIMES = ("papermill", "execution")
"""Metadata of a notebook or a cell with the times of its execution and absolute paths."""

INJECTED = "injected-parameters"
"""Tag of the cell that papermill adds; its id is random."""


def plain(content: dict[str, Any]) -> dict[str, Any]:
    """A notebook that is the same whenever it was executed, if its outputs are."""

    def timeless(part: dict[str, Any]) -> dict[str, Any]:
        metadata = part.get("metadata", {})
        return {**part, "metadata": {k: v for k, v in metadata.items() if k not in TIMES}}

    cells = list(map(timeless, content.get("cells", [])))
    for cell in cells:
        if INJECTED in cell["metadata"].get("tags", ()) and "id" in cell:
            cell["id"] = INJECTED
    return timeless({**content, "cells": cells})


def plain_text(notebook: Path) -> str:
    """An executed notebook as text, as :func:`plain` has it."""
    return json.dumps(plain(read_json(notebook)), indent=1, ensure_ascii=False) + "\n"


def copy_plain(source: Path, target: Path) -> None:
    """Copy an executed notebook as :func:`plain` has it."""
    target.write_text(plain_text(source), encoding="utf-8")
