"""netlab: reproducible throughput studies of a network path.

>>> import netlab
>>> study = netlab.Study("openlab-2003", quick=True)
>>> len(study.plan())
280
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.face.figures import palette, show, theme
    from netlab.face.fleet import Fleet
    from netlab.face.notebook import (
        check_parameters,
        claims,
        document,
        import_files,
        load_published,
        transfer,
    )
    from netlab.face.results import Results, compare, concat
    from netlab.face.stored import export
    from netlab.face.study import Study

__version__ = "0.1.0"

__all__ = [
    "Fleet",
    "Results",
    "Study",
    "__version__",
    "check_parameters",
    "claims",
    "compare",
    "concat",
    "document",
    "export",
    "import_files",
    "load_published",
    "palette",
    "show",
    "theme",
    "transfer",
]

# loaded when first used: a program that measures needs no charts, and a command neither
_MODULES = {
    "Fleet": "fleet",
    "Results": "results",
    "Study": "study",
    "check_parameters": "notebook",
    "claims": "notebook",
    "compare": "results",
    "concat": "results",
    "document": "notebook",
    "export": "stored",
    "import_files": "notebook",
    "load_published": "notebook",
    "palette": "figures",
    "show": "figures",
    "theme": "figures",
    "transfer": "notebook",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'netlab' has no attribute {name!r}")
    value = getattr(import_module(f"netlab.face.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
