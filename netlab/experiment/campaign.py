"""Measure a whole study: execute a notebook for each block, and skip runs with a valid record."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import NetlabError
from netlab.experiment.block import context_of, standing
from netlab.experiment.endpoint import host_facts, study_lab
from netlab.experiment.watcher import Watcher
from netlab.files import paths
from netlab.notebooks.execution import execute
from netlab.results import Store
from netlab.study import Study
from netlab.study.frozen import freeze
from netlab.study.schedule import blocks

BLOCK_NOTEBOOK = "02-measure-block.ipynb"

RUN_OVERHEAD_S = 0.11
"""Estimated time of a run besides warm-up and window."""


@dataclass(frozen=True)
class Campaign:
    """The result of a campaign: blocks and runs measured, runs kept, and their directory."""

    study: Study
    directory: Path
    blocks_measured: int
    runs_measured: int
    runs_kept: int


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Lock the results directory against a second campaign."""
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / ".lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise NetlabError(
                f"another netlab is measuring into {directory}", code="E-RUN-002"
            ) from None
        yield


def run_study(
    study: Study,
    *,
    directory: Path | None = None,
    watcher: Watcher | None = None,
) -> Campaign:
    """Measure every run of a study that has no valid record yet.

    Parameters
    ----------
    study : Study
        What to measure.
    directory : Path, optional
        Directory for the results; ``data/results/<name>`` when left out.
    watcher : Watcher, optional
        Progress callbacks.

    Raises
    ------
    NetlabError
        A block failed. Earlier results are kept, and a second call resumes.
    """
    directory = (directory or paths.results_dir(study.name)).absolute()
    watcher = watcher or Watcher()
    notebook = paths.notebook(BLOCK_NOTEBOOK)
    with ExitStack() as stack:
        stack.enter_context(exclusive(directory))
        lab = stack.enter_context(study_lab(study))
        frozen = freeze(study, directory)
        store = Store(directory)
        facts = host_facts(study, lab=lab)
        planned = blocks(study)
        stand = {
            b.block_id: standing(study, b, context_of(study, b, facts[b.path], lab), store)
            for b in planned
        }
        kept = sum(len(ids) for ids in stand.values())
        total = sum(len(b.runs) for b in planned)
        todo = [b for b in planned if len(stand[b.block_id]) < len(b.runs)]
        each_s = study.timing.warmup_s + study.timing.seconds + RUN_OVERHEAD_S
        watcher.start(total, kept, len(todo), each_s)
        for block in todo:
            watcher.block(block)
            progress_file = directory / f".progress-{os.getpid()}"
            with _followed(progress_file, len(stand[block.block_id]), watcher.run_done):
                execute(
                    notebook,
                    directory / "notebooks" / f"{block.block_id}.ipynb",
                    {
                        "study": str(frozen),
                        "block_id": block.block_id,
                        "results": str(directory),
                        "lab": lab.id if lab is not None else "",
                        "progress_file": str(progress_file),
                    },
                )
        watcher.end()
    return Campaign(study, directory, len(todo), total - kept, kept)


@contextmanager
def _followed(path: Path, skip: int, each: Callable[[], None]) -> Iterator[None]:
    """Call `each` for every new line of a file after the first `skip`."""
    path.write_text("", encoding="ascii")
    stop = threading.Event()

    def follow() -> None:
        seen = 0
        while True:
            last = stop.is_set()
            lines = path.read_text(encoding="utf-8").count("\n")
            for index in range(seen, lines):
                if index >= skip:
                    each()
            seen = lines
            if last:
                return
            stop.wait(0.3)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        path.unlink(missing_ok=True)
