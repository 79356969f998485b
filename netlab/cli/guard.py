"""Limits, errors and signals that end a command: one sentence and an exit code."""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import resource
import select
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any, NoReturn

import click

from netlab import interrupts, wings
from netlab.cli.options import note
from netlab.errors import NO_THREAD, NetlabError
from netlab.files.writing import no_inode

FILES = 256
"""Open files of a campaign: connections, streams of processes, sockets of kernels."""


FILES_WANTED = 4096


MEMORY_MIB = 2048
"""Address space that the libraries map before netlab allocates anything."""


def check_limits() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = FILES_WANTED if hard == unlimited else min(FILES_WANTED, hard)
    if unlimited != soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if unlimited != hard < FILES:
        remedy = "raise the limit (ulimit -Hn, LimitNOFILE, limits.conf)"
        text = f"only {hard} open files are allowed, {FILES} are needed: {remedy}"
        raise NetlabError(text, code="E-CLI-014")
    memory, _ = resource.getrlimit(resource.RLIMIT_AS)
    if memory != unlimited and memory < MEMORY_MIB << 20:
        limited = f"limited to {memory >> 20} MiB, {MEMORY_MIB} MiB are needed"
        text = f"the address space is {limited}: raise the limit (ulimit -v)"
        raise NetlabError(text, code="E-CLI-015")


def explained(error: OSError | MemoryError | RuntimeError) -> NetlabError:
    """An error of the system as one sentence, with the limit that was reached."""
    if isinstance(error, RuntimeError):
        remedy = "raise the limit of memory or of processes (ulimit -v, ulimit -u, pids.max)"
        return NetlabError(f"no thread can be started: {remedy}", code="E-CLI-080")
    if isinstance(error, MemoryError):
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        allowed = "" if limit == resource.RLIM_INFINITY else f"; ulimit -v is {limit >> 20} MiB"
        return NetlabError(f"not enough memory{allowed}", code="E-CLI-016")
    where = f"{error.filename}: " if error.filename else ""
    what = os.strerror(error.errno) if error.errno else str(error)
    if error.errno == errno.EMFILE:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        what += f"; {soft} are allowed: raise the limit (ulimit -n)"
    elif error.errno == errno.EACCES and error.filename and _is_unreadable(error.filename):
        what += "; this user may not read it: change its rights, or run as its owner"
    elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and error.filename:
        what += "; choose a directory that this user can write (--results), or change its rights"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        what += no_inode(error.filename)
        if str(error.filename).startswith(f"{tempfile.gettempdir()}/netlab-"):
            what += "; free some space there, or name another directory in TMPDIR"
        else:
            what += "; the records so far are complete: free some space and run it again"
    return NetlabError(f"{where}{what}", code="E-CLI-017")


def _is_unreadable(path: str) -> bool:
    """True where this user may not read a path, or a directory above it."""
    place = os.path.abspath(path)
    while not os.path.lexists(place):  # false as well below a directory that cannot be searched
        place = os.path.dirname(place)
    mode = os.R_OK | (os.X_OK if os.path.isdir(place) else 0)
    return not os.access(place, mode, effective_ids=True)


CONDITION_MET = 3
"""Exit code of ``netlab compare`` if a condition of ``--fail-if`` is met."""


BELOW_GATE = 4
"""Exit code of a command that has done its work, which is below the quality gate."""


TYPED = f"{__name__}.typed"
"""Key of click's `meta`: the arguments of the command as they were typed."""

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command as Ctrl-C does."""


_show_others = warnings.showwarning


def _show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Show a warning of netlab as one line, and any other as Python does."""
    if category.__module__.partition(".")[0] == "netlab":
        note(message)
    else:
        _show_others(message, category, *place, **more)


def forget_unusable_backend() -> None:
    """Let matplotlib be imported where its backend is of another environment, such as Jupyter's.

    A command draws into files, which needs none.
    """
    scheme, _, module = os.environ.get("MPLBACKEND", "").partition("module://")
    if scheme or not module:
        return
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        found = None
    if found is None:
        del os.environ["MPLBACKEND"]


def show_warnings_as_notes() -> None:
    warnings.showwarning = _show


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
    interrupts.clean_up_on_interrupt()


def closed_outputs() -> list[int]:
    """Descriptors of standard output and error whose reader has gone, as with ``| head``."""
    poll = select.poll()
    for number in (1, 2):
        poll.register(number, 0)  # errors alone
    return [number for number, event in poll.poll(0) if event & select.POLLERR]


def _end_interrupted(interrupt: KeyboardInterrupt) -> NoReturn:
    number = interrupt.args[0] if interrupt.args else signal.SIGINT
    by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    text = getattr(interrupt, "text", "interrupted; what was changed is reverted")
    note(re.sub("^(Stopped|interrupted)", rf"\1{by}", text))
    sys.exit(128 + number)


def guarded(function: Callable, *, needs_limits: bool = True) -> Callable:
    """Turn netlab's errors, the system's and signals into one message and an exit code."""

    @wraps(function)
    def wrapped(*args: object, **kwargs: object) -> object:
        show_warnings_as_notes()
        forget_unusable_backend()
        try:
            if needs_limits:
                check_limits()
            return function(*args, **kwargs)
        except NetlabError as error:
            note(error.with_code())
            sys.exit(error.exit_code)
        except KeyboardInterrupt as interrupt:
            _end_interrupted(interrupt)
        except BrokenPipeError as error:
            if not (closed := closed_outputs()):  # a connection, not the output
                note(explained(error).with_code())
                sys.exit(1)
            for number in closed:  # Python writes what it has buffered once more as it ends
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            sys.exit(128 + signal.SIGPIPE)
        except (OSError, MemoryError, RuntimeError) as error:
            if isinstance(error.__cause__, KeyboardInterrupt):
                # Python 3.11, while a library makes a class: "Error calling __set_name__"
                _end_interrupted(error.__cause__)
            if isinstance(error, RuntimeError) and str(error) != NO_THREAD:
                raise
            note(explained(error).with_code())
            sys.exit(1)

    return wrapped


class GuardedCommand(click.Command):
    """A command that may name its function, ``module:name``, which is imported when it runs.

    It may also name one that validates its arguments, before what runs it is imported: a mistake
    in a study is shown at once.
    """

    def __init__(
        self, *arguments: Any, runs: str = "", validates: str = "", **settings: Any
    ) -> None:
        super().__init__(*arguments, **settings)
        self.runs, self.validates = runs, validates

    def invoke(self, context: click.Context) -> Any:
        return guarded(self._run)(context)

    def _run(self, context: click.Context) -> Any:
        context.meta[TYPED] = dict(context.params)
        if self.validates:
            context.params = wings.load(self.validates)(**context.params)
        if self.runs:
            self.callback = wings.load(self.runs)
        return super().invoke(context)


class GuardedGroup(click.Group):
    """A group whose commands, and those of its groups, are guarded."""

    command_class = GuardedCommand
    group_class: type[click.Group] | type[type] | None = type
