"""Atomic writing of text and JSON files."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path


def write_text(path: Path, text: str) -> Path:
    """Write a text file as UTF-8 atomically; create its directory.

    Returns
    -------
    Path
        The file written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
    return path


def write_json(path: Path, content: dict) -> Path:
    """Write a JSON document atomically; create its directory.

    numpy's scalars become Python's, and a number that is not finite becomes null.

    Returns
    -------
    Path
        The file written.
    """
    return write_text(path, f"{json_text(content)}\n")


def json_text(content: object) -> str:
    """Format a JSON document, as :func:`write_json` does."""
    return json.dumps(_plain(content), indent=1, allow_nan=False, ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
