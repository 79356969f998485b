"""Every error netlab raises on purpose, with the exit code a shell sees."""

from __future__ import annotations

import shlex

SHOWN_CHARACTERS = 80


def shown(value: object) -> str:
    """A value as a message shows it: on one line, cut when long."""
    try:
        text = repr(value)
    except ValueError:  # an int of more digits than Python prints
        return f"a {type(value).__name__} too large to print"
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."


class NetlabError(Exception):
    """Base of all errors netlab raises. ``exit_code`` 1: a run or host failed."""

    exit_code = 1


class BadInput(NetlabError):
    """Something the user wrote cannot be used.

    Parameters
    ----------
    message : str
        What is wrong, in one sentence.
    where : str, optional
        File or parameter set the value came from.
    key : str, optional
        Dotted key within it.
    value : object, optional
        The value as found.
    """

    exit_code = 2

    def __init__(self, message: str, *, where: str = "", key: str = "", value: object = None):
        self.where, self.key, self.value = where, key, value
        cut = key if len(key) <= SHOWN_CHARACTERS else f"{key[: SHOWN_CHARACTERS - 3]}..."
        place = ": ".join(part for part in (where, cut) if part)
        found = "" if value is None else f" (found {shown(value)})"
        super().__init__(f"{place}: {message}{found}" if place else f"{message}{found}")


class HostError(NetlabError):
    """A host could not be reached, or a command on it failed.

    Parameters
    ----------
    host : str
        Name of the host.
    message : str
        What happened.
    command : tuple of str, optional
        The argv that failed.
    exit_status : int, optional
        Its exit status.
    output : str, optional
        What it printed; the last ten lines are kept.
    """

    def __init__(
        self,
        host: str,
        message: str,
        *,
        command: tuple[str, ...] = (),
        exit_status: int | None = None,
        output: str = "",
    ):
        self.host, self.command, self.exit_status = host, command, exit_status
        self.output = "\n".join(output.strip().splitlines()[-10:])
        text = f"{host}: {message}"
        if command:
            text += f"; command: {shlex.join(command)}"
        if exit_status is not None:
            text += f"; exit status {exit_status}"
        if self.output:
            text += f"\n{self.output}"
        super().__init__(text)


class Unsupported(NetlabError):
    """This machine, kernel or device lacks something that was asked for."""


class TuningError(NetlabError):
    """A tuning could not be applied, verified or reverted."""


class RunError(NetlabError):
    """A measurement failed; ``code`` is the agent's word for it."""

    def __init__(self, message: str, *, code: str = "internal"):
        self.code = code
        super().__init__(message)


class CoreError(NetlabError):
    """The C library refused a call; ``code`` is its error code."""

    def __init__(self, message: str, *, code: str = "internal"):
        self.code = code
        super().__init__(message)
