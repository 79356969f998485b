"""What a notebook calls besides a study: transfer, views, check of parameters."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

import pandas as pd

from netlab import core
from netlab.core import RunReport
from netlab.files.tables import Table

# What a notebook shows: views, a link to a site.


P = ParamSpec("P")
MadeT = TypeVar("MadeT")
Made = Callable[Concatenate[Any, P], MadeT]


class Shown:
    """What a notebook shows as its parts, one below the other: its answer, if nothing else."""

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


# Check of a notebook's parameters, by the name that notebooks use.


def check_parameters(
    namespace: MutableMapping[str, object], **kinds: type | tuple[type, ...]
) -> None:
    """Refuse unknown or mistyped parameters of a notebook.

    Call it right after the cell tagged ``parameters``: papermill only warns of an unknown name.
    A mistake in a study that is made of a list among them then names the parameter.

    Parameters
    ----------
    namespace : mapping
        The notebook's ``globals()``.
    **kinds : type or tuple of types
        Type of each parameter. An int is accepted as a float; a bool is not an int.

    Raises
    ------
    BadInput
        An unknown parameter, a missing one, or a value of another type.

    Examples
    --------
    >>> import netlab
    >>> netlab.check_parameters({"quick": True}, quick=bool)
    >>> netlab.check_parameters({"quick": "yes"}, quick=bool)
    Traceback (most recent call last):
    netlab.errors.BadInput: parameters: quick: must be bool (found 'yes')
    """
    from netlab.notebooks.parameters import check

    check(namespace, **kinds)


# A transfer on this machine, in this process: the first thing to try.

DEFAULTS = {"warmup_ms": 100, "window_ms": 1000, "congestion": "reno"}
"""Every kernel has reno, and any user may choose it."""


@dataclass(frozen=True, repr=False)
class LoopbackRun(Shown):
    """A run between two sockets of this machine; shows its rate and its ledger."""

    sink: RunReport
    gen: RunReport

    @property
    def goodput_MBps(self) -> float:
        """Payload that the sink read within its window, 10^6 B/s."""
        return self.sink.goodput_MBps

    @property
    def ledger(self) -> dict[str, int]:
        """Bytes of the run by the place where they were counted."""
        return {
            "given to send()": self.gen.total_bytes,
            "read by the sink": self.sink.total_bytes,
            "sum of the sink's intervals": self.sink.interval_sum_bytes,
            "sum of the sender's intervals": self.gen.interval_sum_bytes,
        }

    @property
    def closes(self) -> bool:
        """True if all counts of the ledger agree."""
        return len(set(self.ledger.values())) == 1

    def _parts(self) -> tuple[Table]:
        rtts_us = [stream["tcp"]["rtt_us"] for stream in self.gen.per_stream]
        rows = [
            ("goodput at the sink", f"{self.goodput_MBps:,.0f} MB/s"),
            *((place, f"{count:,} B") for place, count in self.ledger.items()),
            ("ledger", "closes to the byte" if self.closes else "does not close"),
            ("RTT, mean of streams", f"{sum(rtts_us) / len(rtts_us):,.0f} us"),
        ]
        frame = pd.DataFrame(rows, columns=["quantity", "value"])
        return (Table(frame, f"A transfer over loopback, {self.sink.streams} streams"),)


def transfer(streams: int = 1, **settings: object) -> LoopbackRun:
    """Move bytes between two sockets of this machine.

    Both ends run in this process, one thread a stream. No setting of the machine is changed.

    Parameters
    ----------
    streams : int
        Number of parallel TCP streams.
    **settings
        Further options of a run by name, such as ``window_ms`` or ``bytes``; see
        :func:`netlab.core.options`. The default is a window of 1000 ms after a warm-up of 100 ms.

    Returns
    -------
    LoopbackRun
        Rate and ledger of the run.

    Raises
    ------
    CoreError
        Unknown option, refused value, or streams that could not be connected.

    Examples
    --------
    >>> import netlab
    >>> run = netlab.transfer(streams=4, window_ms=200)
    >>> run.goodput_MBps > 0
    True
    >>> run.ledger["given to send()"] == run.ledger["read by the sink"]
    True
    """
    chosen: dict[str, Any] = {**DEFAULTS, **settings}
    if settings.get("bytes"):
        chosen = {"congestion": DEFAULTS["congestion"], **settings}
    return LoopbackRun(*core.transfer(streams=streams, **chosen))
