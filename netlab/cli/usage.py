"""Codes of the mistakes in a command line that click finds: unknown options, missing arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

CODES: tuple[tuple[type[click.UsageError], str], ...] = (
    (click.NoSuchOption, "E-CLI-027"),
    (click.NoSuchCommand, "E-CLI-028"),
    (click.MissingParameter, "E-CLI-029"),
    (click.BadParameter, "E-CLI-030"),
    (click.BadOptionUsage, "E-CLI-031"),
    (click.BadArgumentUsage, "E-CLI-032"),
    (click.UsageError, "E-CLI-033"),
)
"""Kind of mistake -> code; the first kind that fits counts."""


class CodedUsageError(click.UsageError):
    """A usage error of click with a stable code at the end of its message.

    Parameters
    ----------
    error : UsageError
        As click raised it.
    code : str
        Its code, as of :class:`netlab.errors.NetlabError`.
    """

    def __init__(self, error: click.UsageError, *, code: str):
        super().__init__(f"{error.format_message()} [{code}]", error.ctx)
        self.code = code


class CodedGroup(click.Group):
    """A group of commands whose usage errors, and those of its commands, have a code."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Parse the options of the group."""
        with _coded():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse and run the command."""
        with _coded():
            return super().invoke(ctx)


@contextmanager
def _coded() -> Iterator[None]:
    try:
        yield
    except (click.exceptions.NoArgsIsHelpError, CodedUsageError):  # a page of help; has a code
        raise
    except click.UsageError as error:
        code = next(code for kind, code in CODES if isinstance(error, kind))
        raise CodedUsageError(error, code=code) from error
