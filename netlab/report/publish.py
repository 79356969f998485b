"""From results to a site: the analysis notebooks executed, every page rendered."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from netlab.analysis.answers import several
from netlab.analysis.longpath_study import on_long_path
from netlab.analysis.measured import Measured, load_measured
from netlab.analysis.sides import side_of
from netlab.analysis.then_and_now import comparable
from netlab.analysis.trust import Concern, gate
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.notebooks.execution import declared, execute
from netlab.notebooks.kernel import Kernel
from netlab.report.explore import has_factors
from netlab.report.site import ExecutedNotebook, build_site
from netlab.results.store import study_file
from netlab.study import QUICK, Study, load
from netlab.study.published import SUFFIX, ReportPages, report_notebooks
from netlab.study.schedule import rounds

# A report's notebooks, executed one after the other in one kernel while pages are drawn.

EXECUTED = "notebooks"
"""Folder of executed notebooks below a directory of results."""

PREPARE = "import netlab.face.views, netlab.face.results, netlab.report.front"
"""Imports of most notebooks."""


class Executions:
    """Notebooks executed in a thread; the kernel starts at once and imports as the caller does."""

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

    def add(self, source: Path, output: Path, parameters: Mapping[str, object]) -> None:
        """Execute a notebook after those before it."""
        self._ended[output] = self._thread.submit(self._make, source, output, parameters)

    def wait(self, output: Path) -> None:
        """Wait for the notebook with this executed copy; raise its error."""
        self._ended[output].result()

    def _make(self, source: Path, output: Path, parameters: Mapping[str, object]) -> None:
        self._started.result()
        execute(source, output, parameters, kernel=self._kernel)


MEASURED, FACTORS = "03-openlab-measured.ipynb", "19-factors.ipynb"
"""Notebooks of this study's own results: against streams, and where it crosses further factors."""

BESIDE_2003, BESIDE_A_TABLE = "15-then-and-now.ipynb", "20-published-beside.ipynb"
"""Those for studies with cells of the 2003 report's tables, or with a published table."""

AGREEMENT, LONG_PATH = "16-agreement.ipynb", "17-slac-measured.ipynb"
"""Those for cells of several generators, and for traced senders on an emulated path."""

COMPARISON = "18-compare.ipynb"
"""Notebook of a report that is given other results to compare with."""

SUMMARIES = {
    MEASURED: "tables, charts and bottlenecks",
    FACTORS: "any two factors as tables and charts, and what each one does",
    BESIDE_2003: "measured beside published: findings of 2003 that hold",
    BESIDE_A_TABLE: "a published table beside the measured cells, step by step",
    AGREEMENT: "generators side by side: agreement on one path",
    LONG_PATH: "goodput over time, after slow start and a loss; fairness of flows",
    COMPARISON: "compared with other results, cell by cell",
    "10-openlab-2003.ipynb": "the figures of the 2003 report",
    "11-preliminary-2003.ipynb": "the preliminary notes",
    "12-slac-2003.ipynb": "the wide-area tests of 2003",
    "13-gigabit-hosts.ipynb": "two articles on tuning gigabit hosts",
    "14-claims.ipynb": "every claim of the five documents, recomputed",
}

NAMED = "named by the study"
NOTEBOOKS_SHARE = 0.8
"""Share of the notebooks in the time of a report."""


@dataclass(frozen=True)
class PublishedReport:
    """A report that was written."""

    index: Path
    concerns: tuple[Concern, ...]
    left_out: tuple[str, ...] = ()


def publish(
    directory: Path,
    site: Path,
    step: Callable[[str, float], None] = lambda text, share: None,
    *,
    against: str = "",
    notebooks: Sequence[Path] | None = None,
    executed: Path | None = None,
    dated: bool = True,
    author: str = "",
    data_only: bool = False,
    calibrations: Path | None = None,
    running: Executions | None = None,
) -> PublishedReport:
    """Execute the analysis notebooks and build the site."""
    directory = directory.absolute()
    frozen = study_file(directory)
    if not frozen.is_file():
        raise NetlabError(
            f"{directory} contains no results of a study; run it first", code="E-REPORT-001"
        )
    site = site.absolute()
    step("records", 0.0)
    with nullcontext(running) if running else Executions() as running:
        measured = load_measured(directory, frozen)
        against = against and side_of(against).given  # refused before minutes of notebooks
        if notebooks is None:
            notebooks = report_notebooks(report_of(measured.study))
        folder = executed or directory / EXECUTED
        wanted = _wanted(measured, frozen, against, notebooks)
        names = [source.name for source in wanted]
        stated = measured.study.report.notebooks if measured.study.report is not None else ()
        shown = (Path(name).name for name in stated)
        left_out = tuple(
            name for name in shown if f"{name.removesuffix(SUFFIX)}{SUFFIX}" not in names
        )
        for source, parameters in wanted.items():
            running.add(source, folder / source.name, parameters)

        def wait(output: Path) -> None:
            running.wait(output)
            step(output.name, NOTEBOOKS_SHARE / len(names))

        pages = [
            ExecutedNotebook(folder / name, summary=SUMMARIES.get(name, NAMED), ready=False)
            for name in names
        ]
        index = build_site(
            [*pages, *_block_pages(measured, directory / EXECUTED)],
            site,
            measured=measured,
            built_at=datetime.now(UTC) if dated else None,
            pdf=not data_only,
            png=not data_only,
            author=author,
            left_out=left_out,
            calibrations=calibrations or paths.results_dir("calibration"),
            wait=wait,
        )
    step("site", 1 - NOTEBOOKS_SHARE)
    return PublishedReport(index, gate(measured), left_out)


def report_of(study: Study) -> ReportPages | None:
    """Notebooks that a study names; of an older one without any, those of netlab's of its name."""
    if study.report is not None:
        return study.report
    try:
        file = paths.study_file(study.name.removesuffix(QUICK))
        return load(file).report if file.is_relative_to(paths.data_dir()) else None
    except BadInput:
        return None


def measured_notebooks(m: Measured) -> tuple[str, ...]:
    """Names of the notebooks that apply to a measured study."""
    found = [LONG_PATH] if on_long_path(m) else []
    # the notebook of a long path shows its stacks, which are a factor
    if not found or m.runs.groupby("group")["streams"].nunique().max() > 1:
        found.append(FACTORS if has_factors(m) else MEASURED)
    if len(comparable(m)):
        found.append(BESIDE_2003)
    if m.study.published is not None:
        found.append(BESIDE_A_TABLE)
    if several(m.runs):
        found.append(AGREEMENT)
    return tuple(found)


def _wanted(
    m: Measured, frozen: Path, against: str, named: Sequence[Path]
) -> dict[Path, dict[str, object]]:
    """Notebooks of a report in their order: those that apply, a comparison, those it names."""
    given: dict[str, object] = {"results": str(m.results), "study": str(frozen)}
    wanted = {paths.notebook(name): given for name in measured_notebooks(m)}
    if against:
        wanted[paths.notebook(COMPARISON)] = {"a": against, "b": str(m.results)}
    taken = {source.name for source in wanted}
    for source in named:
        if source.name not in taken:
            known = declared(source)
            wanted[source] = {name: value for name, value in given.items() if name in known}
    return wanted


def _block_pages(measured: Measured, executed: Path) -> list[ExecutedNotebook]:
    """The notebook of the last visit of every block: it shows the block in all rounds."""
    pages = []
    made = measured.runs.groupby("block_id")["round"].agg(["size", "nunique"])
    for visit in sorted(rounds(measured.study)[0], key=lambda v: (v.path, v.tuning, v.mtu_B or 0)):
        path = last_visit(executed, visit.block_id)
        if path is not None and visit.block_id in made.index:
            title = f"Block: {visit.path}, {visit.tuning}, {visit.mtu_text}"
            runs, times = made.loc[visit.block_id]
            summary = f"{runs} runs in {times} rounds; the notebook of the last visit"
            part = "Blocks, as measured"
            pages.append(ExecutedNotebook(path, title, summary, part, visit.block_id))
    return pages


def last_visit(executed: Path, block_id: str) -> Path | None:
    """The notebook of the last visit of a block, by campaign, round and repetition."""
    name = re.compile(rf"([^~-]*)(?:-(\d+))?~{re.escape(block_id)}@r(\d+)(?:~(\d+))?")
    found = {}
    for path in executed.glob(f"*~{glob.escape(block_id)}@r*.ipynb"):
        if visit := name.fullmatch(path.stem):
            stamp, number, round_number, again = visit.groups()
            found[(stamp, int(number or 0), int(round_number), int(again or 1))] = path
    return found[max(found)] if found else None
