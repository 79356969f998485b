"""Executed notebooks as files of a site: without times, random ids and paths of the machine."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netlab.files import paths
from netlab.files.bounded_json import read_json

TIMES = ("papermill", "execution")
"""Metadata of a notebook or a cell with the times of its execution and absolute paths."""

INJECTED = "injected-parameters"
"""Tag of the cell that papermill adds; its id is random."""

SHOWN = ("source", "outputs")
"""Parts of a cell that a reader sees."""

RESULTS = "results"
"""Name of the directory of results, as in a bundle."""

_BEFORE = r"(?:(?P<colour>\x1b\[[0-9;]*m)|(?<=file://)|(?<![\w/.-]))"
"""A path begins behind a colour of a traceback, too."""
_AFTER = r"(?![\w-]|\.\w)"


def public_names(results: Path | None = None) -> dict[str, str]:
    """Directories of this machine -> what a reader sees of them.

    A path says who measured, and for whom.
    """
    named = [(Path.home(), "~"), (paths.root_dir(), "."), (Path.cwd(), ".")]
    if results is not None:
        named.append((results, RESULTS))
    shown = {str(path): name for path, name in named if len(path.parts) > 1}
    return dict(sorted(shown.items(), key=lambda one: -len(one[0])))  # results lie below others


def plain(content: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A notebook that is the same whenever and wherever it was executed, if its outputs are."""

    def timeless(part: dict[str, Any]) -> dict[str, Any]:
        metadata = part.get("metadata", {})
        return {**part, "metadata": {k: v for k, v in metadata.items() if k not in TIMES}}

    cells = list(map(timeless, content.get("cells", [])))
    for cell in cells:
        if INJECTED in cell["metadata"].get("tags", ()) and "id" in cell:
            cell["id"] = INJECTED
        rename(cell, names)
    return timeless({**content, "cells": cells})


def rename(cell: dict[str, Any], names: Mapping[str, str]) -> None:
    """Write names in place of directories in all that a reader sees of a cell."""
    cell.update({part: renamed(cell[part], names) for part in SHOWN if part in cell})


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Texts with names in place of directories, in whatever holds them."""
    if isinstance(value, str):
        for directory, name in names.items():
            if directory in value:  # seldom, and much quicker to see
                place = re.compile(rf"{_BEFORE}{re.escape(directory)}{_AFTER}")
                value = place.sub(rf"\g<colour>{name}", value)
        return value
    if isinstance(value, list):
        return [renamed(each, names) for each in value]
    if isinstance(value, dict):
        return type(value)({key: renamed(each, names) for key, each in value.items()})
    return value


def plain_text(notebook: Path, names: Mapping[str, str]) -> str:
    """An executed notebook as text, as :func:`plain` has it."""
    return json.dumps(plain(read_json(notebook), names), indent=1, ensure_ascii=False) + "\n"


def copy_plain(source: Path, target: Path, names: Mapping[str, str]) -> None:
    """Copy an executed notebook as :func:`plain` has it."""
    target.write_text(plain_text(source, names), encoding="utf-8")
