"""Exit codes and messages of commands that end on an error or a signal."""

from __future__ import annotations

import re
import signal
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import TextIO

import click

from netlab.cli.limits import check_limits, explained
from netlab.errors import NetlabError

CONDITION_MET = 3
"""Exit code of ``netlab compare`` if a condition of ``--fail-if`` is met."""

BELOW_GATE = 4
"""Exit code of a command that has done its work, which is below the quality gate."""

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command as Ctrl-C does."""

_show_others = warnings.showwarning


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning of netlab as one line, and any other as Python does."""
    if category.__module__.partition(".")[0] == "netlab":
        click.echo(f"netlab: {message}", err=True)
    else:
        _show_others(message, category, filename, lineno, file, line)


def end_on_signals() -> None:
    """Let a command clean up on SIGTERM and SIGHUP; a second one of them changes nothing.

    A signal that is ignored, as under nohup, stays ignored.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(number)

    for number in ENDING:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)


def guarded(function: Callable) -> Callable:
    """Turn netlab's errors, the system's and signals into one message and an exit code."""

    @wraps(function)
    def wrapped(*args: object, **kwargs: object) -> object:
        warnings.showwarning = _show
        try:
            check_limits()
            return function(*args, **kwargs)
        except NetlabError as error:
            click.echo(f"netlab: {error.with_code()}", err=True)
            sys.exit(error.exit_code)
        except KeyboardInterrupt as interrupt:
            number = interrupt.args[0] if interrupt.args else signal.SIGINT
            by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
            said = getattr(interrupt, "text", "interrupted; what was changed is reverted")
            said = re.sub("^(Stopped|interrupted)", rf"\1{by}", said)
            click.echo(f"netlab: {said}", err=True)
            sys.exit(128 + number)
        except BrokenPipeError:
            raise
        except (OSError, MemoryError) as error:
            click.echo(f"netlab: {explained(error).with_code()}", err=True)
            sys.exit(1)

    return wrapped
