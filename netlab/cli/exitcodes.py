"""Exit codes and messages of commands that end on one of netlab's errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps

import click

from netlab.errors import NetlabError

CONDITION_MET = 3
"""Exit code of ``netlab compare`` if a condition of ``--fail-if`` is met."""


def guarded(function: Callable) -> Callable:
    """Turn netlab's errors into one message and an exit code."""

    @wraps(function)
    def wrapped(*args: object, **kwargs: object) -> object:
        try:
            return function(*args, **kwargs)
        except NetlabError as error:
            click.echo(f"netlab: {error.with_code()}", err=True)
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("netlab: interrupted; what was changed is reverted", err=True)
            sys.exit(130)

    return wrapped
