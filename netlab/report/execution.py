"""A report's notebooks, executed one after the other in one kernel while pages are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from netlab.notebooks.execution import execute
from netlab.notebooks.kernel import Kernel

EXECUTED = "notebooks"
"""Folder of executed notebooks below a directory of results."""

PREPARE = """
import netlab.face.charts, netlab.face.results, netlab.report.front
"""
"""Imports of most notebooks."""


@dataclass(frozen=True)
class Job:
    """A notebook to execute."""

    source: Path
    output: Path
    parameters: Mapping[str, object] = field(default_factory=dict)
    summary: str = ""


class Executions:
    """Notebooks executed in a thread beside the caller; a context manager.

    The kernel starts at once, so that it imports while the caller does. If the block ends early,
    notebooks that have not begun are left out.
    """

    def __enter__(self) -> Self:
        self._kernel = Kernel(PREPARE)
        self._ended: dict[Path, Future] = {}
        # one thread for all, since the event loop of a kernel is that of its thread
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="notebooks")
        self._started = self._thread.submit(self._kernel.__enter__)
        return self

    def __exit__(self, *_exception: object) -> None:
        for ended in self._ended.values():
            ended.cancel()
        try:
            if self._started.exception() is None:
                self._thread.submit(self._kernel.__exit__).result()
        finally:
            self._thread.shutdown()

    def add(self, job: Job) -> None:
        """Execute a notebook after those before it."""
        self._ended[job.output] = self._thread.submit(self._make, job)

    def wait(self, output: Path) -> None:
        """Wait for the notebook with this executed copy; raise its error."""
        self._ended[output].result()

    def _make(self, job: Job) -> None:
        self._started.result()
        execute(job.source, job.output, job.parameters, kernel=self._kernel)
