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
    from netlab.face import (
        Fleet,
        Results,
        Study,
        check_parameters,
        claims,
        compare,
        document,
        load_published,
        show,
        transfer,
    )

__version__ = "0.1.0"

__all__ = [
    "Fleet",
    "Results",
    "Study",
    "__version__",
    "check_parameters",
    "claims",
    "compare",
    "document",
    "load_published",
    "show",
    "transfer",
]

_LAZY = frozenset(__all__) - {"__version__"}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'netlab' has no attribute {name!r}")
    value = getattr(import_module("netlab.face"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
