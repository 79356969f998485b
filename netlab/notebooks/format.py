"""nbformat, imported without a grammar that it does not use.

nbformat imports jsonschema, which compiles a grammar of IRIs where one is installed: over a second.
No schema of notebooks contains an IRI.
"""

from __future__ import annotations

import sys

GRAMMAR = "rfc3987_syntax"

if GRAMMAR in sys.modules or "jsonschema" in sys.modules:
    import nbformat
else:
    sys.modules[GRAMMAR] = None  # type: ignore[assignment]  # jsonschema expects an ImportError
    try:
        import nbformat
    finally:
        del sys.modules[GRAMMAR]

__all__ = ["nbformat"]
