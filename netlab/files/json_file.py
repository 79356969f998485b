"""Atomic writing of text and JSON files."""

from __future__ import annotations

import json
import math
from pathlib import Path

from netlab.files.atomic import replaced


def write_text(path: Path, text: str, *, durable: bool = False) -> Path:
    """Write a text file as UTF-8 atomically; create its directory."""
    with replaced(path, durable=durable) as partial:
        partial.write_text(text, encoding="utf-8")
    return path


def write_json(path: Path, content: dict, *, durable: bool = False) -> Path:
    """Write a JSON document atomically; create its directory.

    numpy's scalars become Python's, and a number that is not finite becomes null.
    """
    return write_text(path, f"{json_text(content)}\n", durable=durable)


def json_text(content: object) -> str:
    """Format a JSON document, as :func:`write_json` does."""
    return json.dumps(_plain(content), indent=1, allow_nan=False, ensure_ascii=False)


def json_line(content: object) -> str:
    """Format a JSON document as one line, newline included, with the values of `write_json`."""
    return json.dumps(_plain(content), allow_nan=False, ensure_ascii=False) + "\n"


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
