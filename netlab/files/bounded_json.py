"""Bounded reading of JSON that a file, a column of results or a host contains."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

from netlab.errors import BadInput, why
from netlab.files.reading import open_regular

MAX_B = 256 << 20
MAX_DEPTH = 100
"""Deepest nesting: code that walks a document recursively stays far from Python's limit."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class BadJson(BadInput, ValueError):
    """Text that is not JSON, or exceeds the bounds."""


def parse_json(
    text: str | bytes, where: str = "", *, kind: type = dict, code: str | None = None
) -> Any:
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        content = json.loads(decoded, parse_constant=no_constant)
        if _SURROGATE.search(decoded):  # half a character cannot be written again
            json.dumps(content, ensure_ascii=False).encode()
    except RecursionError:
        raise BadJson("nested too deeply", where=where, code=code or "E-FILES-016") from None
    except ValueError as error:
        message = f"is not JSON: {why(error)}"
        raise BadJson(message, where=where, code=code or "E-FILES-017") from None
    # counting is faster than walking, and is enough for nearly all
    if decoded.count("[") + decoded.count("{") > MAX_DEPTH and _is_deep(content):
        raise BadJson("nested too deeply", where=where, code=code or "E-FILES-018")
    if not isinstance(content, kind):
        message = f"is not a JSON {'object' if kind is dict else kind.__name__}"
        raise BadJson(message, where=where, code=code or "E-FILES-019")
    return content


def read_json(path: Path) -> dict:
    """Read a JSON object from a file; OSError where it cannot be read."""
    with open_regular(path) as file:
        text = file.read(MAX_B + 1)
    if len(text) > MAX_B:
        raise BadJson(f"is larger than {MAX_B >> 20} MiB", where=str(path), code="E-FILES-020")
    return parse_json(text, str(path))


def _is_deep(content: object) -> bool:
    level = [content]
    for _ in range(MAX_DEPTH):
        level = [
            below
            for value in level
            if isinstance(value, dict | list)
            for below in (value.values() if isinstance(value, dict) else value)
        ]
    return bool(level)


def no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
