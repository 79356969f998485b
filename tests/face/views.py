"""What a notebook shows of a view: its methods without arguments, and each answer."""

from __future__ import annotations

import inspect


def shown(one: object) -> bool:
    """True for what a notebook shows and a terminal prints."""
    return bool(one._repr_html_()) and bool(repr(one))


def methods(owner: object) -> list[str]:
    """Public methods that need no argument."""
    found = []
    for name, member in inspect.getmembers(owner, inspect.isroutine):
        if name.startswith("_"):
            continue
        parameters = inspect.signature(member).parameters.values()
        if all(p.default is not inspect.Parameter.empty for p in parameters):
            found.append(name)
    return found
