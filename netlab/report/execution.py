"""Execution of a report's notebooks: a few kernels side by side, each for several notebooks."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from netlab.files.json_file import write_text
from netlab.notebooks.execution import execute
from netlab.notebooks.forkserver import Call, running
from netlab.notebooks.kernel import Kernel
from netlab.report.inputs import digest_of, package_digest, results_digest
from netlab.results.campaigns import study_file

EXECUTED = "notebooks"
"""Folder of executed notebooks below a directory of results."""

RENDERED = ".rendered"
"""Folder of rendered pages there."""

LAST = "inputs"
"""File in it with the digest of package and records of the last report."""

MOST_AT_ONCE = 2

SHARED = (
    *("ipykernel.kernelapp", "ipykernel.zmqshell", "pandas.io.formats.style", "scipy.special"),
    *("netlab.charts.views", "netlab.charts.then_and_now", "netlab.face.charts"),
    *("netlab.report.agreement", "netlab.report.beside", "netlab.report.front"),
    *("netlab.report.kept", "netlab.report.provenance", "netlab.report.tables"),
)
"""Modules that a kernel of a report imports sooner or later."""


def prepare(directory: str = "", study: str = "") -> None:
    """Do in a kernel what most notebooks need: import modules, and load results if they are known.

    Parameters
    ----------
    directory : str
        The results, absolute.
    study : str
        Their study.
    """
    for module in SHARED:
        importlib.import_module(module)
    from netlab.analysis.measured import load_measured, reuse_loaded

    reuse_loaded()
    if directory:
        load_measured(directory, study)


def at_once() -> int:
    """Kernels side by side: the calling process draws pages meanwhile, and needs a CPU as well.

    A forked kernel costs nothing to start, so it may wait for a CPU.
    """
    if running() is not None:
        return MOST_AT_ONCE
    return max(1, min(MOST_AT_ONCE, len(os.sched_getaffinity(0)) - 1))


@dataclass(frozen=True)
class Job:
    """A notebook to execute.

    Parameters
    ----------
    source, output : Path
        The notebook, and its executed copy.
    parameters : mapping
        Values for its cell tagged ``parameters``.
    summary : str
        One line for the index of the report.
    inputs : str
        Digest of all that the copy depends on; empty if it is made at every call.
    then : str
        Code for the kernel once the copy is made.
    """

    source: Path
    output: Path
    parameters: Mapping[str, object] = field(default_factory=dict)
    summary: str = ""
    inputs: str = ""
    then: str = ""

    @property
    def is_made(self) -> bool:
        """True if the copy exists and its inputs are unchanged."""
        try:
            noted = self.output.is_file() and self._note.read_text("utf-8")
            return bool(self.inputs) and noted == self.inputs
        except OSError:
            return False

    def make(self, kernel: Kernel) -> None:
        """Execute the notebook, and note its inputs."""
        self._note.unlink(missing_ok=True)
        execute(self.source, self.output, self.parameters, kernel=kernel)
        if self.then:
            kernel.execute(self.then)
        if self.inputs:
            write_text(self._note, self.inputs)

    @property
    def _note(self) -> Path:
        return self.output.with_name(f".{self.output.stem}.inputs")


class Executions:
    """Notebooks executed in the background; a context manager.

    If the block ends with an error, notebooks that have not begun are left out.

    Parameters
    ----------
    kernels : int, optional
        Most kernels side by side; by default :func:`at_once`.
    """

    def __init__(self, kernels: int | None = None):
        self._most = at_once() if kernels is None else kernels
        self._done: Callable[[Job], None] = lambda job: None
        self._waited_for = 0
        self._made: set[Path] = set()
        self._left: SimpleQueue[Job | None] = SimpleQueue()
        self._ended: SimpleQueue[Job | BaseException] = SimpleQueue()
        self._workers: list[Thread] = []
        self._prepare = Call(__name__, prepare.__name__)

    def __enter__(self) -> Executions:
        return self

    def start(self, directory: Path, study: Path) -> None:
        """Start a kernel before the notebooks are known, which takes as long as loading results.

        Parameters
        ----------
        directory, study : Path
            The results that it loads.
        """
        self._prepare = Call(__name__, prepare.__name__, (str(directory), str(study)))
        self._add_worker(early=True)

    def add(self, jobs: Iterable[Job], done: Callable[[Job], None] = lambda job: None) -> None:
        """Execute notebooks; each kernel takes the next one when it is free.

        Parameters
        ----------
        jobs : iterable of Job
            In their order.
        done : callable
            Called by :meth:`wait` with each job that is finished.
        """
        self._done = done
        for job in jobs:
            self._waited_for += 1
            self._left.put(job)
        while len(self._workers) < min(self._most, self._waited_for):
            self._add_worker()

    def __exit__(self, *_exception: object) -> None:
        with suppress(Empty):
            while True:
                self._left.get_nowait()
        for _ in self._workers:
            self._left.put(None)
        for worker in self._workers:
            worker.join()

    def wait(self, output: Path | None = None) -> None:
        """Wait for the notebook with this executed copy, or for all; raise the first error."""
        while self._waited_for and (output is None or output not in self._made):
            ended = self._ended.get()
            if isinstance(ended, BaseException):
                raise ended
            self._waited_for -= 1
            self._made.add(ended.output)
            self._done(ended)

    def _add_worker(self, *, early: bool = False) -> None:
        self._workers.append(Thread(target=self._work, args=(early,)))
        self._workers[-1].start()

    def _work(self, early: bool) -> None:
        try:
            with ExitStack() as stack:
                kernel = stack.enter_context(Kernel(shared=self._prepare)) if early else None
                while (job := self._left.get()) is not None:
                    kernel = kernel or stack.enter_context(Kernel(shared=self._prepare))
                    job.make(kernel)
                    self._ended.put(job)
        except BaseException as error:
            self._ended.put(error)


def begun(directory: Path, *, reuse: bool = True) -> Executions:
    """Executions for a report; if its records or the package changed, with a kernel that loads.

    Called before the modules of a report are imported, which takes as long as the start of a
    kernel.

    Parameters
    ----------
    directory : Path
        The results, absolute.
    reuse : bool
        False if the report will execute its notebooks in any case.
    """
    running = Executions()
    frozen = study_file(directory)
    if frozen.is_file() and not (reuse and noted(directory) == inputs_of(directory)):
        running.start(directory, frozen)
    return running


def inputs_of(directory: Path) -> str:
    """Digest of package and records."""
    return digest_of(package_digest(), results_digest(directory))


def noted(directory: Path) -> str:
    """The digest that the last report noted; empty without one."""
    try:
        return (rendered(directory) / LAST).read_text("utf-8")
    except OSError:
        return ""


def rendered(directory: Path) -> Path:
    """Folder of rendered pages below that of the notebooks."""
    return directory / EXECUTED / RENDERED
