"""Views of a notebook, and its link to a site."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

P = ParamSpec("P")
MadeT = TypeVar("MadeT")
Made = Callable[Concatenate[Any, P], MadeT]


class Shown:
    """Parts that a notebook shows, one below the other: its answer, if nothing else."""

    answer: Any

    def _parts(self) -> tuple:
        return (self.answer,)

    def _repr_html_(self) -> str:
        return "".join(part._repr_html_() for part in self._parts())

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._parts()))


class View:
    """Tables, charts and sentences on one subject."""

    def __init__(self, subject: Any):
        self._subject = subject

    def __repr__(self) -> str:
        """Names and first lines of the members to call."""
        members = {name: getattr(type(self), name) for name in dir(type(self)) if name[0] != "_"}
        first = {
            name: (made.__doc__ or "").strip().partition("\n")[0].replace("``", "")
            for name, made in members.items()
        }
        width = max(map(len, first), default=0)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in first.items())


class AnsweredView(Shown, View):
    """A view that shows itself as its answer above its main table."""

    _table: Callable[[], Any]

    def _parts(self) -> tuple:
        return self.answer, self._table()


def made_by(make: Made[P, MadeT], text: str = "") -> Made[P, MadeT]:
    """Define a method that passes a view's subject to `make`, with its signature and docstring."""

    @wraps(make)
    def method(self: View, *args: P.args, **kwargs: P.kwargs) -> MadeT:
        return make(self._subject, *args, **kwargs)

    method.__doc__ = text or make.__doc__
    return method


@dataclass(frozen=True)
class Site:
    """A written report; shows itself as a link to its first page."""

    index: Path

    def __fspath__(self) -> str:
        return str(self.index)

    def _repr_html_(self) -> str:
        """A link that JupyterLab follows, relative to the notebook; and one for a file on disk."""
        index = self.index.resolve()
        relative = html.escape(quote(os.path.relpath(index)))
        address = html.escape(index.as_uri())
        name = html.escape(str(self.index))
        return f'<a href="{relative}">{name}</a> (<a href="{address}">outside of JupyterLab</a>)'

    def __repr__(self) -> str:
        return str(self.index)
