"""Execution of a report's notebooks: a few kernels side by side, each for several notebooks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from netlab.files.json_file import write_text
from netlab.notebooks.execution import execute
from netlab.notebooks.kernel import Kernel

AT_ONCE = 2
PREPARE = """
import netlab
import netlab.analysis.measured
import netlab.charts.views
import netlab.report.front, netlab.report.tables
"""
"""Modules that most notebooks import; a kernel loads them once."""


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
    """

    source: Path
    output: Path
    parameters: Mapping[str, object] = field(default_factory=dict)
    summary: str = ""
    inputs: str = ""

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
    jobs : iterable of Job
        In their order; each kernel takes the next one when it is free.
    done : callable
        Called by :meth:`wait` with each job that is finished.
    """

    def __init__(self, jobs: Iterable[Job], done: Callable[[Job], None] = lambda job: None):
        self._left, self._done = deque(jobs), done
        self._waited_for = len(self._left)
        self._ended: SimpleQueue[Job | BaseException] = SimpleQueue()

    def __enter__(self) -> Executions:
        self._pool = ThreadPoolExecutor(max_workers=AT_ONCE)
        for _ in range(min(AT_ONCE, self._waited_for)):
            self._pool.submit(self._work)
        return self

    def __exit__(self, *_exception: object) -> None:
        self._left.clear()
        self._pool.shutdown()

    def wait(self) -> None:
        """Wait for all notebooks, and raise the first error."""
        while self._waited_for:
            ended = self._ended.get()
            if isinstance(ended, BaseException):
                raise ended
            self._waited_for -= 1
            self._done(ended)

    def _work(self) -> None:
        try:
            with ExitStack() as stack:
                kernel = None
                while (job := self._next()) is not None:
                    kernel = kernel or stack.enter_context(Kernel(PREPARE))
                    job.make(kernel)
                    self._ended.put(job)
        except BaseException as error:
            self._ended.put(error)

    def _next(self) -> Job | None:
        try:
            return self._left.popleft()
        except IndexError:
            return None
