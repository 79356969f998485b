"""nbformat, imported without the formats of values that it does not use.

nbformat imports jsonschema, which compiles a grammar of IRIs where one is installed, over a second,
and imports a calendar for durations. No schema of notebooks contains either.
"""

from __future__ import annotations

import sys
from pathlib import Path

from netlab.errors import BadInput, why
from netlab.files.bounded_json import read_json
from netlab.files.reading import open_regular

UNUSED = ("rfc3987_syntax", "isoduration")

if "jsonschema" in sys.modules:
    import nbformat
else:
    hidden = [name for name in UNUSED if name not in sys.modules]
    # jsonschema expects an ImportError
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        import nbformat
    finally:
        for name in hidden:
            del sys.modules[name]

__all__ = ["nbformat", "read_notebook"]


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """Read a notebook; one that is not valid is refused, as nbformat only logs it."""
    invalid: dict = {}
    try:
        read_json(path)  # bounds; nbformat has none
        with open_regular(path, "r", encoding="utf-8") as file:
            notebook = nbformat.read(file, as_version=4, capture_validation_error=invalid)
    except OSError as error:
        text = f"cannot be read: {error.strerror}"
        raise BadInput(text, where=str(path), code="E-NOTEBOOKS-006") from None
    except Exception as error:  # nbformat trusts the shape of the JSON, and raises whatever follows
        invalid["ValidationError"] = error
    if invalid:
        reason = why(invalid["ValidationError"])
        raise BadInput(f"is not a notebook: {reason}", where=str(path), code="E-NOTEBOOKS-007")
    return notebook
