"""What the commands share: options, validation before heavy imports, exit codes, limits."""

from __future__ import annotations

import errno
import os
import re
import resource
import select
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import reduce, wraps
from itertools import product
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from netlab.errors import BadInput, NetlabError, printable
from netlab.files import paths
from netlab.files.writing import no_inode

if TYPE_CHECKING:
    from netlab.study import Study


# Arguments and options that several commands share.

study_argument = click.argument("study")
quick_option = click.option("--quick", is_flag=True, help="Take the short form of the study.")


def together(*given: Callable) -> Callable:
    """One decorator that adds several options and arguments, in the order of the help."""
    return lambda function: reduce(lambda made, option: option(made), reversed(given), function)


def text_option(*names: str, help: str, **more: Any) -> Callable:
    return click.option(*names, default="", show_default=False, help=help, **more)


def file_option(*names: str, help: str, **more: Any) -> Callable:
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option(*names, type=kind, help=help, **more)


def levels_option(*names: str, help: str, **more: Any) -> Callable:
    """Add an option that may be repeated; the command gets a tuple."""
    return click.option(*names, multiple=True, help=help, **more)


timing_options = together(
    quick_option,
    click.option("--rounds", type=int, help="Rounds, in place of the study's precision."),
    click.option(
        "--precision", type=float, help="Half width of a cell's interval, per cent of its mean."
    ),
    click.option("--max-rounds", type=int, help="Most rounds of a cell."),
    click.option("--budget", help="Time for the whole campaign, such as 20min."),
    click.option("--seconds", type=float, help="Measured seconds of each run."),
    click.option("--seed", type=int, help="Seed of the randomised order."),
)


def _outer(_context: object, _option: object, value: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in value:
        name, _, level = text.partition("=")
        if not (name and level):
            raise click.BadParameter(f"write NAME=LEVEL, not {text!r}")
        if name in found:
            raise click.BadParameter(f"{name} is given twice")
        found[name] = level
    return found


outer_option = click.option(
    "--outer",
    multiple=True,
    callback=_outer,
    metavar="NAME=LEVEL",
    help="Level that the hosts have now of a factor that a person sets; may be repeated.",
)


def directory_option(*names: str, help: str) -> Callable:
    """Add an option that takes a directory; the command gets an absolute path, or None."""
    kind = click.Path(path_type=Path, file_okay=False)

    def absolute(_context: object, _option: object, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    return click.option(*names, type=kind, callback=absolute, help=help)


def results_option(*names: str, place: str = "STUDY") -> Callable:
    """Add ``--results`` and other names of it: the directory of the results."""
    text = (
        f"Directory of the results. Default: results/{place} in $NETLAB_HOME or here, "
        f"data/results/{place} in a checkout."
    )
    return directory_option("--results", *names, help=text)


author_option = text_option("--author", help="Name of the person who measured.")
url_option = text_option("--url", help="Address at which the report will be found.")
site_option = directory_option(
    "--site", help="Directory of the report. Default: site in $NETLAB_HOME, in a checkout, or here."
)


def in_columns(*rows: tuple[str, ...]) -> str:
    texts = [[*map(printable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in texts)


def note(text: object) -> None:
    click.echo(f"netlab: {text}", err=True)


def asking_at_terminal() -> AbstractContextManager[None]:
    """Let ssh ask for a passphrase or a second factor within the block, if there is a terminal."""
    from netlab.hosts.connection import CONTROLS
    from netlab.hosts.terminal import asking

    return asking(lambda: CONTROLS.path().parent)


# Validate input before a host is reached and before heavy imports.


def load_study(
    given: str, *, quick: bool = False, results: Path | None = None, **timing: Any
) -> Study:
    """Load a study from what a user typed: a name, or the path of a file.

    Imported results bring their study, and no other file has its name.
    """
    from netlab.study import is_name, load, load_stored

    try:
        study = load(paths.study_file(given), quick=quick, **timing)
    except BadInput:
        stored = (results or paths.results_dir(given)) / "study.yml" if is_name(given) else None
        if stored is None or not stored.is_file() or (study := load_stored(stored)).name != given:
            raise
    notebooks_of(study, given)
    return study


def load_measured_study(
    given: str, *, quick: bool, results: Path | None
) -> tuple[Study, Path | None]:
    """Load a study whose results are asked for, or its short form where that was measured last.

    With it the directory of its results, unless it is the usual one. A name or directory of
    results is enough: their study stands beside them, wherever its file is by now.
    """
    from netlab.results.store import measured_directory, names_here, study_file
    from netlab.study import is_name, load_stored

    try:
        study = load_study(given, quick=quick, results=results)
    except BadInput as error:
        if is_name(given):
            stored = study_file(results or measured_directory(given))
            held = load_stored(stored).name if stored.is_file() else ""
            if held in (given, given + paths.QUICK):
                return load_stored(stored), results
            if held and results is None:
                text = f"holds runs of {held!r}; a directory that was renamed is named by its path"
                raise BadInput(text, where=str(stored.parent), code="E-CLI-081") from None
            if error.key == "study" and results is None:
                text = error.message + names_here()
                raise BadInput(text, key="study", value=given, code="E-CLI-082") from None
        place = paths.given_path(given)
        if results is not None or not (place / "runs").is_dir() or not study_file(place).is_file():
            raise
        return load_stored(study_file(place)), place
    if quick or results is not None or measured_directory(study.name).name == study.name:
        return study, results
    short = load_study(given, quick=True)
    note(f"of {short.name}, the short form, which was measured last; --results names another")
    return short, None


def notebooks_of(study: Study, given: str) -> tuple[Path, ...] | None:
    """Notebooks that the study's file names for its report, those beside it included.

    None if it names none, or if it came with results: then it is not its user's.
    """
    from netlab.study.published import report_notebooks

    if study.report is None:
        return None
    try:
        file = paths.study_file(given)
    except BadInput:  # the name or directory of results
        return None
    return None if paths.is_stored(file) else report_notebooks(study.report, file)


def load_measurable(given: str, *, quick: bool = False, **timing: Any) -> Study:
    """Load a study that is to be measured: each of its tunings must exist."""
    return with_tunings(load_study(given, quick=quick, **timing))


def with_tunings(study: Study) -> Study:
    """The study; one with a tuning that does not exist or has a mistake is refused.

    Results and bundles of before are read without it, but their study is not measured again as long
    as a knob that may not revert exactly states no risk.
    """
    from netlab.tuning.exact import refusal
    from netlab.tuning.profiles import each_knob

    for path, level in product(study.paths.values(), study.tunings):
        for end in path.ends:
            for _, knob in each_knob(study.tuning_profile(end.host, level.name).items):
                if knob.needs_risk:
                    key = f"tunings.{level.name}"
                    message = refusal(knob.label)
                    raise BadInput(message, where=study.name, key=key, code="E-CLI-045")
    return study


def asked_outer(study: Study, given: Mapping[str, str]) -> dict[str, str]:
    """Levels of the study's outer factors: as given, and on a terminal asked for the others."""
    from netlab.study.factor_checks import chosen_outer
    from netlab.study.factors import level_text

    found = dict(given)
    for name in sorted(study.outer.keys() - found) if sys.stdin.isatty() else ():
        levels = click.Choice([level_text(level) for level in study.outer[name]])
        found[name] = click.prompt(f"{name} of the hosts now", type=levels, err=True)
    chosen_outer(study, found)
    return found


# Limits of this process that netlab needs, and errors of the system in one sentence.

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


NO_THREAD = "can't start new thread"
"""Python's words, of no class of their own."""


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
    elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and error.filename:
        what += "; choose a directory that this user can write (--results), or change its rights"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        what += no_inode(error.filename)
        if str(error.filename).startswith(f"{tempfile.gettempdir()}/netlab-"):
            what += "; free some space there, or name another directory in TMPDIR"
        else:
            what += "; the records so far are complete: free some space and run it again"
    return NetlabError(f"{where}{what}", code="E-CLI-017")


# Exit codes and messages of commands that end on an error or a signal.

CONDITION_MET = 3
"""Exit code of ``netlab compare`` if a condition of ``--fail-if`` is met."""

BELOW_GATE = 4
"""Exit code of a command that has done its work, which is below the quality gate."""

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command as Ctrl-C does."""

_show_others = warnings.showwarning


def _show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Show a warning of netlab as one line, and any other as Python does."""
    if category.__module__.partition(".")[0] == "netlab":
        note(message)
    else:
        _show_others(message, category, *place, **more)


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


def closed_outputs() -> list[int]:
    """Descriptors of standard output and error whose reader has gone, as with ``| head``."""
    poll = select.poll()
    for number in (1, 2):
        poll.register(number, 0)  # errors alone
    return [number for number, event in poll.poll(0) if event & select.POLLERR]


def guarded(function: Callable) -> Callable:
    """Turn netlab's errors, the system's and signals into one message and an exit code."""

    @wraps(function)
    def wrapped(*args: object, **kwargs: object) -> object:
        warnings.showwarning = _show
        try:
            check_limits()
            return function(*args, **kwargs)
        except NetlabError as error:
            note(error.with_code())
            sys.exit(error.exit_code)
        except KeyboardInterrupt as interrupt:
            number = interrupt.args[0] if interrupt.args else signal.SIGINT
            by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
            text = getattr(interrupt, "text", "interrupted; what was changed is reverted")
            note(re.sub("^(Stopped|interrupted)", rf"\1{by}", text))
            sys.exit(128 + number)
        except BrokenPipeError as error:
            if not (closed := closed_outputs()):  # a connection, not the output
                note(explained(error).with_code())
                sys.exit(1)
            for number in closed:  # Python writes what it has buffered once more as it ends
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            sys.exit(128 + signal.SIGPIPE)
        except (OSError, MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and str(error) != NO_THREAD:
                raise
            note(explained(error).with_code())
            sys.exit(1)

    return wrapped


class GuardedCommand(click.Command):
    def invoke(self, context: click.Context) -> Any:
        return guarded(super().invoke)(context)


class GuardedGroup(click.Group):
    """A group whose commands, and those of its groups, are guarded."""

    command_class = GuardedCommand
    group_class: type[click.Group] | type[type] | None = type
