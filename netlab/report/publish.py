"""From results to a site: the analysis notebooks executed, every page rendered."""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from netlab.analysis.agreement import several
from netlab.analysis.longpath_study import on_long_path
from netlab.analysis.measured import Measured, load_measured
from netlab.analysis.sides import side_of
from netlab.analysis.then_and_now import comparable
from netlab.analysis.trust import Concern, gate
from netlab.errors import NetlabError
from netlab.files import paths
from netlab.notebooks.execution import execute
from netlab.report.factors import has_factors
from netlab.report.site import ExecutedNotebook, build_site
from netlab.results.campaigns import study_file
from netlab.study.schedule import rounds

MEASURED = (("03-openlab-measured.ipynb", "tables, charts, bottlenecks and findings"),)
"""Notebooks of this study's own results against streams; they take ``results`` and ``study``."""

FACTORS = (("19-factors.ipynb", "any two factors as tables and charts, and what each one does"),)
"""Notebook of a study that crosses further factors, in place of the one against streams."""

BESIDE_2003 = (("15-then-and-now.ipynb", "measured beside published: findings of 2003 that recur"),)
"""Those for studies with cells of the 2003 report's tables."""

BESIDE_A_TABLE = (
    ("20-published-beside.ipynb", "a published table beside the measured cells, step by step"),
)
"""Notebook of a study that names a published table."""

AGREEMENT = (("16-agreement.ipynb", "generators side by side: agreement on one path"),)
"""Those for studies whose cells were measured with several generators."""

COMPARISON = ("18-compare.ipynb", "compared with other results, cell by cell")
"""Notebook of a report that is given other results to compare with."""

LONG_PATH = (
    (
        "17-slac-measured.ipynb",
        "goodput over time, after slow start and a loss; fairness of flows",
    ),
)
"""Those for studies whose senders were traced on an emulated path."""

PUBLISHED = (
    ("10-openlab-2003.ipynb", "the figures of the 2003 report"),
    ("11-preliminary-2003.ipynb", "the preliminary notes"),
    ("12-slac-2003.ipynb", "the wide-area tests of 2003"),
    ("13-gigabit-hosts.ipynb", "two articles on tuning gigabit hosts"),
    ("14-claims.ipynb", "every claim of the five documents, recomputed"),
)
"""Notebooks of the published side; they depend on the package and its data alone."""

AT_ONCE = 2


@dataclass(frozen=True)
class Published:
    """A report that was written.

    Attributes
    ----------
    index : Path
        Its first page.
    concerns : tuple of Concern
        From :func:`netlab.analysis.trust.gate`; empty if the report passes the quality gate.
    """

    index: Path
    concerns: tuple[Concern, ...]


def publish(
    directory: Path,
    site: Path,
    step: Callable[[str, float], None] = lambda text, share: None,
    *,
    against: str = "",
    dated: bool = True,
    data_only: bool = False,
) -> Published:
    """Execute the analysis notebooks and build the site.

    Parameters
    ----------
    directory : Path
        The results. The report is of the study as its latest campaign measured it.
    site : Path
        Directory of the site; an older site is replaced, anything else is refused.
    step : callable
        Progress callback: name of a finished step, and its share of the whole.
    against : str
        Other results, for a page that compares these with them: a directory, the name of a study,
        or ``DIR@CAMPAIGN``.
    dated : bool
        State the time of publishing in the footer; without it the same results give the same bytes.
    data_only : bool
        Leave out the PDF and the PNGs.

    Returns
    -------
    Published
        The site's ``index.html``, and what keeps the report below the quality gate.

    Raises
    ------
    NetlabError
        There are no results, a notebook failed, or the site cannot be written.
    """
    directory = directory.absolute()
    frozen = study_file(directory)
    if not frozen.is_file():
        raise NetlabError(
            f"{directory} contains no results of a study; run it first", code="E-REPORT-001"
        )
    site = site.absolute()
    measured = load_measured(directory)
    against = against and side_of(against).given  # refused before minutes of notebooks
    of_study = measured_notebooks(measured)
    compared = (COMPARISON,) if against else ()
    share = 0.8 / (len(of_study) + len(compared) + len(PUBLISHED))
    executed = directory / "notebooks"

    def run_measured(entry: tuple[str, str]) -> ExecutedNotebook:
        name, summary = entry
        output = execute(
            paths.notebook(name),
            executed / name,
            {"results": str(directory), "study": str(frozen)},
        )
        step(name, share)
        return ExecutedNotebook(output, summary=summary)

    def run_compared(entry: tuple[str, str]) -> ExecutedNotebook:
        name, summary = entry
        output = execute(paths.notebook(name), executed / name, {"a": against, "b": str(directory)})
        step(name, share)
        return ExecutedNotebook(output, summary=summary)

    def run_published(entry: tuple[str, str]) -> ExecutedNotebook:
        name, summary = entry
        output = _published(paths.notebook(name))
        step(name, share)
        return ExecutedNotebook(output, summary=summary)

    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        jobs = [pool.submit(run_measured, entry) for entry in of_study]
        jobs += [pool.submit(run_compared, entry) for entry in compared]
        jobs += [pool.submit(run_published, entry) for entry in PUBLISHED]
        pages = [job.result() for job in jobs]
    pages += _block_pages(measured, executed)
    built_at = datetime.now(UTC) if dated else None
    index = build_site(
        pages, site, measured=measured, built_at=built_at, pdf=not data_only, png=not data_only
    )
    step("site", 0.2)
    return Published(index, gate(measured))


def measured_notebooks(measured: Measured) -> tuple[tuple[str, str], ...]:
    """Notebooks that apply to a measured study, each with a summary."""
    found: tuple[tuple[str, str], ...] = LONG_PATH if on_long_path(measured) else ()
    # the notebook of a long path shows its stacks, which are a factor
    if not found or measured.runs.groupby("group")["streams"].nunique().max() > 1:
        found += FACTORS if has_factors(measured) else MEASURED
    if len(comparable(measured)):
        found += BESIDE_2003
    if measured.study.published is not None:
        found += BESIDE_A_TABLE
    return found + AGREEMENT if several(measured.runs) else found


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


def _published(notebook: Path) -> Path:
    """An executed copy of a notebook that depends on the package and its data alone.

    The copy is reused for the same package, notebook and data.
    """
    cache = paths.results_root() / ".published" / _digest(notebook)
    output = cache / notebook.name
    return output if output.is_file() else execute(notebook, output, {})


def _digest(notebook: Path) -> str:
    package = Path(__file__).parents[1]
    sources = sorted([*package.rglob("*.py"), *package.rglob("*.yml")])
    data = sorted(path for path in (paths.data_dir() / "published").rglob("*") if path.is_file())
    whole = hashlib.sha256()
    for path in (notebook, *sources, *data):
        whole.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]
