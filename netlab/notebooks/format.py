"""nbformat, imported without the formats of values that it does not use.

nbformat imports jsonschema, which compiles a grammar of IRIs where one is installed, over a second,
and imports a calendar for durations. No schema of notebooks contains either.
"""

from __future__ import annotations

import sys

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

__all__ = ["nbformat"]
