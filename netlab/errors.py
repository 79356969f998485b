"""Errors that netlab raises on purpose, each with an exit status and a stable code.

A code is ``E-PART-NNN``: the part of netlab that raises it, and a number of three digits, for
example ``E-HOST-003``. It is a literal at the raise site and is written once, so that a search for
it finds the line. Wording may change between versions; a code never does, and the number of a
removed error is not used again. A new error takes the next free number of its part.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence

CODE = re.compile(r"E-[A-Z]+-[0-9]{3}")
SHOWN_CHARACTERS = 80
OUTPUT_LINES = 10
OUTPUT_CHARACTERS = 4096
NO_THREAD = "can't start new thread"
"""Python's words, of no class of their own."""


def shown(value: object) -> str:
    """Format a value for a message: on one line, cut when long."""
    try:
        text = repr(value)
    except ValueError:  # an int of more digits than Python prints
        return f"a {type(value).__name__} too large to print"
    return _cut(text)


def why(error: BaseException) -> str:
    """Reason of an error that Python raised, on one line, for a message that names the file.

    Examples
    --------
    >>> why(FileNotFoundError(2, "No such file or directory", "plan.json"))
    'No such file or directory'
    >>> why(KeyError("hosts"))
    "it lacks 'hosts'"
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    return " ".join(str(error).split()) or type(error).__name__


def printable(text: str) -> str:
    """Escape what is not printable: the words of a file or a host may hold any character."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."


class NetlabError(Exception):
    """Base class of netlab's errors; ``exit_code`` 1: a run or a host failed."""

    exit_code = 1

    def __init__(self, message: str, *, code: str | None = None):
        self.code = code
        super().__init__("\n".join(printable(line) for line in message.split("\n")))

    def with_code(self) -> str:
        """Return the message with its code at the end of the first line; output may follow."""
        if self.code is None:
            return str(self)
        first, *rest = str(self).split("\n")
        return "\n".join([f"{first} [{self.code}]", *rest])

    def _render_traceback_(self) -> list[str]:
        """Show the message in a notebook in place of a traceback."""
        return [f"netlab: {self.with_code()}"]


class BadInput(NetlabError):
    """Input from the user that cannot be used."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        where: str = "",
        key: str = "",
        value: object = None,
        code: str | None = None,
    ):
        self.message, self.where, self.key, self.value = message, where, key, value
        place = ": ".join(part for part in (printable(where), _cut(printable(key))) if part)
        suffix = "" if value is None else f" (found {shown(value)})"
        text = f"{place}: {message}{suffix}" if place else f"{message}{suffix}"
        super().__init__(text, code=code)


def require(value: object, choices: Collection[object], *, key: str, code: str) -> None:
    """Refuse a value that is not among the choices."""
    try:
        known = value in choices
    except TypeError:  # a list is in no mapping
        known = False
    if not known:
        allowed = ", ".join(map(str, choices))
        raise BadInput(f"must be one of {allowed}", key=key, value=value, code=code)


def check(fine: object, key: str, value: object, message: str, code: str) -> None:
    """Refuse a value that does not pass its test."""
    if not fine:
        raise BadInput(message, key=key, value=value, code=code)


class Mistakes(BadInput):
    """Several mistakes of one file, reported at once."""

    def __init__(
        self,
        mistakes: Sequence[BadInput],
        *,
        where: str,
        count: int | None = None,
        code: str | None = None,
    ):
        count = len(mistakes) if count is None else count
        lines = [f"  {one.with_code()}" for one in mistakes]
        if count > len(mistakes):
            lines.append(f"  and {count - len(mistakes)} more")
        super().__init__("\n".join([f"{count} mistakes", *lines]), where=where, code=code)
        self.mistakes = tuple(mistakes)
        self.key, self.value = mistakes[0].key, mistakes[0].value


class HostError(NetlabError):
    """A host is not reachable, or a command on it failed."""

    def __init__(
        self,
        host: str,
        message: str,
        *,
        command: tuple[str, ...] = (),
        exit_status: int | None = None,
        output: str = "",
        code: str | None = None,
    ):
        self.host, self.command, self.exit_status = host, command, exit_status
        self.output = "\n".join(output.strip()[-OUTPUT_CHARACTERS:].splitlines()[-OUTPUT_LINES:])
        text = f"{host}: {message}"
        if command:
            text += f"; command: {shlex.join(command)}"
        if exit_status is not None:
            text += f"; exit status {exit_status}"
        for line in self.output.splitlines():
            text += f"\n| {line}"  # no line of the host's looks like one of netlab
        super().__init__(text, code=code)


class PathLost(NetlabError):
    """A visit ended by an error of one of its hosts; other paths can go on."""


class Unsupported(NetlabError):
    """This machine, kernel or device lacks a feature that was requested."""


class TuningError(NetlabError):
    """A tuning could not be applied, verified or reverted.

    ``host`` is the one that did not answer, or broke its protocol; empty for any other error.
    """

    def __init__(self, message: str, *, host: str = "", code: str | None = None):
        self.host = host
        super().__init__(message, code=code)


class RunError(NetlabError):
    """A measurement failed."""

    def __init__(self, message: str, *, reason: str = "internal", code: str | None = None):
        self.reason = reason
        super().__init__(message, code=code)


class CoreError(NetlabError):
    """The C library refused a call."""

    def __init__(self, message: str, *, reason: str = "internal", code: str | None = None):
        self.reason = reason
        super().__init__(message, code=code)
