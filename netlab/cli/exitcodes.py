"""Exit codes and messages of commands that end on one of netlab's errors."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import TextIO

import click

from netlab.errors import NetlabError

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


def guarded(function: Callable) -> Callable:
    """Turn netlab's errors into one message and an exit code."""

    @wraps(function)
    def wrapped(*args: object, **kwargs: object) -> object:
        warnings.showwarning = _show
        try:
            return function(*args, **kwargs)
        except NetlabError as error:
            click.echo(f"netlab: {error.with_code()}", err=True)
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("netlab: interrupted; what was changed is reverted", err=True)
            sys.exit(130)

    return wrapped
