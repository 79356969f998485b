"""A report's notebooks, executed one after the other in one kernel while pages are drawn."""

from __future__ import annotations

import glob
import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from netlab import wings
from netlab.analysis.measured import Measured, load_measured
from netlab.analysis.own_report import own_report
from netlab.analysis.sides import side_of
from netlab.analysis.tool_agreement import several
from netlab.analysis.trust import Concern, gate
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.files.blocked_loop import interrupts_raise
from netlab.files.reading import read_bytes
from netlab.files.user_cache import key_of
from netlab.files.writing import replaced
from netlab.notebooks.parameters import declared
from netlab.report.active_cache import using
from netlab.report.cache import BACKEND, NOTHING_KEPT, Cache, program, tree_digest, user_cache
from netlab.report.explore import has_factors
from netlab.report.page import PAGES, UNCREDITED, Credit
from netlab.report.site import ExecutedNotebook, SiteContent, build_site
from netlab.results.campaign_files import latest, study_file
from netlab.study import QUICK, Study, load
from netlab.study.report_pages import SUFFIX, ReportPages, is_own, report_notebooks
from netlab.study.schedule import rounds
from netlab.version import version

EXECUTED = "notebooks"
"""Folder of executed notebooks below a directory of results."""

RESULTS = "<results>"
"""In place of the directory of results in the key of an executed notebook."""

PREPARE = "import netlab.face.views, netlab.face.results, netlab.report.front"
"""Imports of most notebooks."""

SHARE = "\nimport netlab.report.active_cache as caches\ncaches.use({directory!r})"
"""Charts that pages and notebooks have in common are drawn by the first of them."""


class Executions:
    """Notebooks executed in a thread; the kernel imports as the caller does.

    It starts at once, or with the first notebook where probably none is to be executed. It shares
    the charts of a cache until a notebook of a study's own runs, which may change how they are
    drawn.
    """

    def __init__(self, *, at_once: bool = True, cache: Cache = NOTHING_KEPT):
        self._at_once = at_once
        self._shared = str(cache.directory or "")

    def __enter__(self) -> Self:
        self._ended: dict[Path, Future] = {}
        # one thread for all, since the event loop of a kernel is that of its thread
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="notebooks")
        self._started: Future | None = None
        if self._at_once:
            self._start()
        return self

    def _start(self) -> Future:
        if self._started is None:
            from netlab.notebooks.kernel import Kernel  # 0.3 s

            self._kernel = Kernel(PREPARE + SHARE.format(directory=self._shared))
            self._started = self._thread.submit(self._kernel.__enter__)
        return self._started

    def __exit__(self, *_exception: object) -> None:
        for ended in self._ended.values():
            ended.cancel()
        try:
            if self._started is not None and self._started.exception() is None:
                self._thread.submit(self._kernel.__exit__).result()
        finally:
            self._thread.shutdown()

    def add(self, source: Path, output: Path, parameters: Mapping[str, object]) -> None:
        """Execute a notebook after those before it."""
        started = self._start()
        self._ended[output] = self._thread.submit(self._make, started, source, output, parameters)

    @property
    def executed(self) -> Collection[Path]:
        """Executed copies of the notebooks that were added."""
        return self._ended.keys()

    def wait(self, output: Path) -> None:
        """Wait for the notebook with this executed copy, if it was added; raise its error."""
        if output in self._ended:
            self._ended[output].result()

    def _make(
        self, started: Future, source: Path, output: Path, parameters: Mapping[str, object]
    ) -> None:
        from netlab.notebooks.execution import execute  # half a second

        started.result()
        if self._shared and is_own(source):
            self._kernel.make_ready()
            self._kernel.execute(SHARE.format(directory=""))
        execute(source, output, parameters, kernel=self._kernel)


MEASURED_NOTEBOOK, FACTORS_NOTEBOOK = "03-openlab-measured.ipynb", "19-factors.ipynb"
"""Notebooks of this study's own results: against streams, and where it crosses further factors."""

AGREEMENT_NOTEBOOK = "16-agreement.ipynb"
"""That for cells of several generators."""

COMPARISON_NOTEBOOK = "18-compare.ipynb"
"""Notebook of a report that is given other results to compare with."""

OF_RESULTS = (
    *(MEASURED_NOTEBOOK, FACTORS_NOTEBOOK, AGREEMENT_NOTEBOOK),
    *("15-then-and-now.ipynb", "17-slac-measured.ipynb", "20-published-beside.ipynb"),
)
OF_DOCUMENTS = (
    *("10-openlab-2003.ipynb", "11-preliminary-2003.ipynb", "12-slac-2003.ipynb"),
    *("13-gigabit-hosts.ipynb", "14-claims.ipynb"),
)
"""Notebooks of netlab's that read nothing but the results they are given, or documents of 2003."""

NAMED, OFFERED = "named by the study", "of an installed package"
NOTEBOOKS_SHARE = 0.8
"""Share of the notebooks in the time of a report."""


@dataclass(frozen=True)
class PublishedReport:
    index: Path
    concerns: tuple[Concern, ...]
    left_out: tuple[str, ...] = ()


@contextmanager
def folder_of_copies(wanted: Path) -> Iterator[Path]:
    """The folder for executed notebooks; a temporary one where it cannot be written.

    An example that comes with netlab stays as it came.
    """
    with ExitStack() as stack:
        if wanted.is_relative_to(paths.example("")) or not _takes_files(wanted):
            wanted = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="netlab-")))
        yield wanted


def _takes_files(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@dataclass(frozen=True)
class ReportRequest:
    """Request for the report of a directory of results."""

    campaign: str = ""
    """Default: the latest one."""
    against: str = ""
    """Other results, for a page that compares with them."""
    notebooks: Sequence[Path] | None = None
    """Default: those that the study names."""
    executed: Path | None = None
    """Folder of executed copies; by default below the results."""
    dated: bool = True
    credit: Credit = UNCREDITED
    data_only: bool = False
    """Neither PDF nor PNG: data of figures and tables, for a verification."""
    calibrations: Path | None = None
    """Directory of calibrations; by default the user's."""


ANY_REPORT = ReportRequest()


def publish(
    directory: Path,
    site: Path,
    step: Callable[[str, float], None] = lambda text, share: None,
    request: ReportRequest = ANY_REPORT,
    *,
    running: Executions | None = None,
    cache: Cache | None = None,
) -> PublishedReport:
    """Execute the analysis notebooks and build the site; parts made before are not made again."""
    cache = user_cache() if cache is None else cache
    directory = directory.absolute()
    frozen = study_file(directory, request.campaign or None)
    if not frozen.is_file():
        message = f"{directory} contains no results of a study; run it first"
        raise NetlabError(message, code="E-REPORT-001")
    site = site.absolute()
    step("records", 0.0)
    with (
        interrupts_raise(),
        nullcontext(running) if running else Executions(cache=cache) as running,
        using(cache),
        folder_of_copies(request.executed or directory / EXECUTED) as folder,
    ):
        data = tree_digest(directory, [EXECUTED])
        measured = load_measured(directory, frozen)
        against = (
            request.against and side_of(request.against).given
        )  # refused before minutes of notebooks
        notebooks = request.notebooks
        if notebooks is None:
            notebooks = report_notebooks(report_of(measured.study))
        wanted = _wanted(measured, frozen, against, notebooks)
        names = [source.name for source in wanted]
        stated = measured.study.report.notebooks if measured.study.report is not None else ()
        shown = (Path(name).name for name in stated)
        left_out = tuple(
            name for name in shown if f"{name.removesuffix(SUFFIX)}{SUFFIX}" not in names
        )
        keys, places = _keys(wanted, directory), _places(directory)
        calibrations = request.calibrations or paths.results_dir("calibration")
        read: tuple[str | bytes, ...] = (data, measured.campaign or "", places)
        read += (tree_digest(calibrations),)
        # a verification computes; another package's code is not part of the digest of the program
        if request.data_only or wings.of_others() or tree_digest(directory, [EXECUTED]) != data:
            read = ()
        for source, parameters in wanted.items():
            output = folder / source.name
            stored = cache.get(keys[source]) if source in keys else None
            if not (stored and _restored(stored, output, places, moved=request.data_only)):
                running.add(source, output, parameters)

        def wait(output: Path) -> None:
            running.wait(output)
            step(output.name, NOTEBOOKS_SHARE / len(names))

        stated_by = dict.fromkeys(notebooks, NAMED)
        summaries = (
            PAGES.get(source.stem, {}).get("summary", stated_by.get(source, OFFERED))
            for source in wanted
        )
        pages = [
            ExecutedNotebook(folder / name, summary=summary, ready=False)
            for name, summary in zip(names, summaries, strict=True)
        ]
        content = SiteContent(
            [*pages, *_block_pages(measured, directory / EXECUTED)],
            measured,
            built_at=datetime.now(UTC) if request.dated else None,
            pdf=not request.data_only,
            png=not request.data_only,
            calibrations=calibrations,
            credit=request.credit,
            left_out=left_out,
            read=read,
        )
        index = build_site(content, site, wait=wait)
        cache.made += [f"notebook {output.name}" for output in running.executed]
        if running.executed and _keys(wanted, directory) == keys:  # else results changed meanwhile
            for source, key in keys.items():
                if folder / source.name in running.executed:
                    cache.put(key, places + b"\n" + read_bytes(folder / source.name))
            cache.put(_seen(directory), b"")
            cache.prune()
    step("site", 1 - NOTEBOOKS_SHARE)
    return PublishedReport(index, gate(measured), left_out)


def _keys(wanted: Mapping[Path, Mapping[str, object]], directory: Path) -> dict[Path, str]:
    """Digest of all that an executed notebook depends on, for each where that is known.

    Any other notebook may read anything, and is executed for each report.
    """
    data, keys = tree_digest(directory, [EXECUTED]), {}
    for source, parameters in wanted.items():
        if source.name in (*OF_RESULTS, *OF_DOCUMENTS) and not is_own(source):
            read = data if parameters else ""
            given = repr(sorted(parameters.items())).replace(str(directory), RESULTS)
            backend = os.environ.get(BACKEND, "")
            keys[source] = key_of("notebook", program(), backend, read_bytes(source), given, read)
    return keys


def _seen(directory: Path) -> str:
    """Key of the note that a report of these results was made."""
    return key_of("seen", version(), tree_digest(directory, [EXECUTED]))


def probably_executed(directory: Path, cache: Cache) -> bool:
    """True if the notebooks of a report of these results are likely to be stored."""
    return directory.is_dir() and cache.get(_seen(directory.absolute())) is not None


def _places(directory: Path) -> bytes:
    """Directories that an executed notebook may name, as a line of JSON; the last of results."""
    each = [str(Path.cwd()), str(paths.root_dir()), str(directory)]
    return json.dumps(each, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _restored(stored: bytes, output: Path, places: bytes, *, moved: bool) -> bool:
    """Write an executed notebook of the cache into its place; False if it has to be executed.

    One that was executed elsewhere is taken if `moved`, as its figures are the same: it then
    names these results in place of those.
    """
    before, _, content = stored.partition(b"\n")
    if before != places:
        if not moved:
            return False
        was, now = (one.rpartition(b', "')[2].removesuffix(b'"]') for one in (before, places))
        content = content.replace(was, now)
    with suppress(OSError), replaced(output) as partial:  # executing it says why
        partial.write_bytes(content)
        return True
    return False


def report_of(study: Study) -> ReportPages | None:
    """Notebooks that a study names; of an older one without any, those of netlab's of its name."""
    if study.report is not None:
        return study.report
    try:
        file = paths.study_file(study.name.removesuffix(QUICK))
        return load(file).report if file.is_relative_to(paths.data_dir()) else None
    except BadInput:
        return None


def result_notebooks(m: Measured) -> tuple[str, ...]:
    """Names of the notebooks that apply to a measured study."""
    own = own_report(m)
    found = [own.notebook] if own else []
    # a notebook of its own shows its factors
    if not found or m.runs.groupby("group")["streams"].nunique().max() > 1:
        found.append(FACTORS_NOTEBOOK if has_factors(m) else MEASURED_NOTEBOOK)
    found += [name for applying in wings.notebooks() for name in applying(m)]
    if several(m.runs):
        found.append(AGREEMENT_NOTEBOOK)
    return tuple(found)


def _wanted(
    m: Measured, frozen: Path, against: str, named: Sequence[Path]
) -> dict[Path, dict[str, object]]:
    """Notebooks of a report in their order: those that apply, a comparison, those it names."""
    given: dict[str, object] = {"results": str(m.results), "study": str(frozen)}

    def taken_by(source: Path) -> dict[str, object]:
        known = declared(source)
        return {name: value for name, value in given.items() if name in known}

    wanted = {source: taken_by(source) for source in map(paths.notebook, result_notebooks(m))}
    if against:
        of_latest = m.campaign in (None, latest(m.results))
        own = str(m.results) if of_latest else f"{m.results}@{m.campaign}"
        wanted[paths.notebook(COMPARISON_NOTEBOOK)] = {"a": against, "b": own}
    taken = {source.name for source in wanted}
    for source in named:
        if source.name not in taken:
            wanted[source] = taken_by(source)
    return wanted


def _block_pages(measured: Measured, executed: Path) -> list[ExecutedNotebook]:
    """The notebook of the last visit of every block: it shows the block in all rounds."""
    pages = []
    made_in = set(measured.runs["campaign"])
    made = measured.runs.groupby("block_id")["round"].agg(["size", "nunique"])
    for visit in sorted(rounds(measured.study)[0], key=lambda v: (v.path, v.tuning, v.mtu_B or 0)):
        path = last_visit(executed, visit.block_id, made_in)
        if path is not None and visit.block_id in made.index:
            title = f"Block: {visit.path}, {visit.tuning}, {visit.mtu_text}"
            runs, times = made.loc[visit.block_id]
            summary = f"{runs} runs in {times} rounds; the notebook of the last visit"
            part = "Blocks, as measured"
            pages.append(ExecutedNotebook(path, title, summary, part, visit.block_id))
    return pages


def last_visit(executed: Path, block_id: str, campaigns: Collection[str]) -> Path | None:
    """The notebook of the last visit of a block in these campaigns, by round and repetition."""
    name = re.compile(rf"([^~-]*)(?:-(\d+))?~{re.escape(block_id)}@r(\d+)(?:~(\d+))?")
    found = {}
    for path in executed.glob(f"*~{glob.escape(block_id)}@r*.ipynb"):
        visit = name.fullmatch(path.stem)
        if visit and path.stem.partition("~")[0] in campaigns:
            stamp, number, round_number, again = visit.groups()
            found[(stamp, int(number or 0), int(round_number), int(again or 1))] = path
    return found[max(found)] if found else None
