"""Notebooks executed with papermill: output written whole or not at all."""

from __future__ import annotations

import builtins
import keyword
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from netlab.notebooks.format import read_notebook  # isort: skip  # before papermill
import papermill
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError

from netlab.errors import BadInput, NetlabError, PathLost
from netlab.notebooks.kernel import Kernel
from netlab.notebooks.parameters import check_known, declared
from netlab.notebooks.progress import MIME
from netlab.notebooks.silence import SilenceWatch, SilentNotebook

ENGINE = "netlab"
LOGGERS = ("papermill", "papermill.utils", "papermill.translators")
"""A filter of a logger does not apply to those below it."""


def names_checked(notebook: Path, parameters: Mapping[str, object]) -> dict[str, object]:
    """Parameters that may be handed to papermill for this notebook."""
    names = declared(notebook)
    for name in parameters:
        at: dict[str, str] = {"where": str(notebook), "key": repr(name)}
        if not isinstance(name, str):
            raise BadInput("is not a parameter name", **at, code="E-NOTEBOOKS-009")
        if not name.isidentifier() or keyword.iskeyword(name) or hasattr(builtins, name):
            raise BadInput("is not a parameter name", **at, code="E-NOTEBOOKS-010")
        check_known(name, names, str(notebook))
    return dict(parameters)


RAISED = {"BadInput": BadInput, "HostError": PathLost, "TuningError": PathLost}
"""Errors of a cell, by the names of their classes."""


def execute(
    notebook: Path,
    output: Path,
    parameters: Mapping[str, object],
    *,
    kernel: Kernel | None = None,
    on_progress: Callable[[str], None] | None = None,
    silence_s: float | None = None,
) -> Path:
    values = names_checked(notebook, parameters)

    def progressed(message: str) -> None:
        if watch is not None:
            watch.progressed()
        running.raise_if_interrupted()
        if on_progress is not None:
            on_progress(message)

    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.stem}.{os.getpid()}.partial.ipynb")
    watch = None
    try:
        with nullcontext(kernel) if kernel is not None else Kernel() as running:
            running.make_ready()
            with running.watched(silence_s) as watch, _errors_of_papermill_alone():
                papermill.execute_notebook(
                    str(notebook),
                    str(partial),
                    parameters=values,
                    engine_name=ENGINE,
                    kernel_name="python3",
                    progress_bar=False,
                    log_output=False,
                    request_save_on_cell_execute=False,  # nobody sees the copy before its end
                    kernel=running,
                    on_progress=progressed,
                )
    except PapermillExecutionError as error:
        failed = output.with_name(f"{output.stem}.failed.ipynb")
        os.replace(partial, failed)
        _refuse_silence(watch, notebook, output)
        if error.ename == KeyboardInterrupt.__name__:
            failed.unlink()
            raise KeyboardInterrupt from None
        kind = RAISED.get(error.ename, NetlabError)
        message = error.evalue if kind is BadInput else f"{error.ename}: {error.evalue}"
        raise kind(f"{message} (notebook {notebook.name}, saved as {failed})") from None
    except OSError as error:
        text = f"cannot write {output}: {error.strerror or error}"
        raise NetlabError(text, code="E-NOTEBOOKS-001") from None
    except KeyboardInterrupt:  # papermill takes it for the end, and the copy for a whole one
        partial.unlink(missing_ok=True)
        raise
    except RuntimeError as error:  # the kernel did not start, or died before a cell failed
        partial.unlink(missing_ok=True)  # papermill marks it as ended
        _refuse_silence(watch, notebook, output)
        raise NetlabError(f"{notebook.name}: {error}", code="E-NOTEBOOKS-002") from None
    finally:
        if partial.exists():
            if _complete(partial):
                os.replace(partial, output)
            partial.unlink(missing_ok=True)
    return output


@contextmanager
def _errors_of_papermill_alone() -> Iterator[None]:
    """Log no steps and warnings of papermill; its loggers are the caller's before and after.

    A filter of each block, not a level: blocks of two threads may end in any order.
    """

    def is_error(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR

    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(is_error)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_error)


def _refuse_silence(watch: SilenceWatch | None, notebook: Path, output: Path) -> None:
    """Save the stacks of a kernel that was ended for its silence, and raise."""
    if watch is None or not watch.silent:
        return
    stacks = output.with_name(f"{output.stem}.silent.txt")
    stacks.write_text(watch.text)
    reason = f"no progress for {watch.limit_s:g} s, so its kernel was ended"
    text = f"{notebook.name}: {reason}; the stacks of its threads are in {stacks}"
    raise SilentNotebook(text, code="E-NOTEBOOKS-016") from None


def _complete(notebook: Path) -> bool:
    """True if papermill ended this run without an exception."""
    try:
        status = read_notebook(notebook).metadata.get("papermill", {})
    except BadInput:
        return False
    return status.get("end_time") is not None and status.get("exception") is None


class _Client(PapermillNotebookClient):
    """Executes a notebook; progress messages go to a callback and are not stored."""

    on_progress: Callable[[str], None]

    def process_message(self, msg: dict, *args: object, **kwargs: object) -> object:
        data = msg["content"].get("data", {}) if msg["msg_type"] == "display_data" else {}
        if MIME not in data:
            return super().process_message(msg, *args, **kwargs)
        self.on_progress(data[MIME])
        return None


class _Engine(NBClientEngine):
    @classmethod
    def execute_managed_notebook(
        cls, nb_man, kernel_name, *, kernel: Kernel, on_progress: Callable, **_settings: object
    ):
        client = _Client(nb_man, km=kernel.manager, kernel_name=kernel_name, timeout=None)
        client.kc = kernel.client
        client.on_progress = on_progress
        return client.execute()


papermill_engines.register(ENGINE, _Engine)
