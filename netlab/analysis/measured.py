"""Load a measured study: its file, its stored runs, and the cells they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from netlab import study as studies
from netlab.analysis import printed
from netlab.analysis.bottleneck import verdicts
from netlab.analysis.cells import CELL_KEYS, Cells
from netlab.analysis.findings import findings
from netlab.analysis.stability import stability
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.results import Store
from netlab.results.campaigns import folder, ids, latest, study_file
from netlab.study import QUICK, Study, is_name

MadeT = TypeVar("MadeT")


def computed_once(analysis: Callable[[Measured], MadeT]) -> Callable[[Measured], MadeT]:
    """Decorator of an analysis of a measured study: a later call gives the same object.

    Callers do not change it.
    """

    @wraps(analysis)
    def stored(m: Measured) -> MadeT:
        if analysis not in m._made:
            m._made[analysis] = analysis(m)
        return m._made[analysis]

    return stored


@dataclass(frozen=True)
class Measured:
    """A study with its measurements."""

    study: Study
    runs: pd.DataFrame
    cells: pd.DataFrame
    bottlenecks: pd.DataFrame
    results: Path
    intervals: pd.DataFrame | None = None
    campaign: str | None = None
    _made: dict[Callable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def findings(self) -> pd.DataFrame:
        """Findings of 2003 tested on these runs, from :func:`netlab.analysis.findings.findings`."""
        return _findings(self)

    @property
    def stability(self) -> pd.DataFrame:
        """Order effects of the campaign, from :func:`netlab.analysis.stability.stability`."""
        return _stability(self)

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in the order of their tables."""
        return printed.group_names(self.cells)

    def table(self, group: str, quantity: str = "goodput") -> pd.DataFrame:
        """One group laid out as the report prints it; see :func:`printed.as_printed`."""
        return printed.as_printed(self.cells, group, study=self.study, quantity=quantity)


@computed_once
def _findings(m: Measured) -> pd.DataFrame:
    return findings(m.runs, m.study)


@computed_once
def _stability(m: Measured) -> pd.DataFrame:
    return stability(m.runs)


def from_frames(
    study: Study,
    runs: pd.DataFrame,
    intervals: pd.DataFrame | None,
    results: Path,
    campaign: str | None = None,
) -> Measured:
    """Make cells and bottlenecks of frames that are already in memory."""
    cells, found = Cells.of(study)(runs, intervals, study), verdicts(runs)
    cells = cells.merge(found[[*CELL_KEYS, "bottleneck"]], on=list(CELL_KEYS), how="left")
    return Measured(study, runs, cells, found, results, intervals, campaign)


def load_measured(results: str | Path = "", study: str | Path = "") -> Measured:
    """Load a store and the study it was measured for."""
    file, name = _named(study, results) if str(study) else (None, "")
    directory = _directory(results, name)
    return _load(directory, file, name)


def _load(directory: Path, file: Path | None, name: str) -> Measured:
    # one campaign for runs and design: another may begin meanwhile
    campaign = _campaign(directory, file)
    runs, intervals = Store(directory).block(campaign=campaign)
    if runs.empty:
        raise _without_runs(directory, campaign)
    names = sorted(runs["study"].unique())
    design = _design(directory, campaign, file, name, names)
    if names != [design.name]:
        raise BadInput(
            f"holds runs of {', '.join(map(repr, names))}, the study is {design.name!r}",
            where=str(directory),
            key="study",
            code="E-ANALYSIS-012",
        )
    return from_frames(design, runs, intervals, directory, campaign)


def _campaign(directory: Path, file: Path | None) -> str | None:
    """The campaign that stored this study in the directory, else the latest."""
    for one in () if file is None else ids(directory):
        if file == (folder(directory, one) / "study.yml").resolve():
            return one
    return latest(directory)


def _without_runs(directory: Path, campaign: str | None) -> NetlabError:
    before = [] if campaign is None else ids(directory)[: ids(directory).index(campaign)]
    if before and Store(directory).parts():
        return NetlabError(
            f"campaign {campaign} in {directory} has no runs yet; those of {before[-1]} and "
            "before are kept. Try again when it has some",
            code="E-ANALYSIS-042",
        )
    return NetlabError(f"{directory} holds no runs; measure the study first", code="E-ANALYSIS-011")


def _named(study: str | Path, results: str | Path) -> tuple[Path | None, str]:
    """File and name of a study; no file for a name that only results go by."""
    text = str(study)
    try:
        file = paths.study_file(study)
    except BadInput:
        if is_name(text) and (str(results) or paths.results_dir(text).is_dir()):
            return None, text
        if not (is_name(text) and text.endswith(QUICK)):
            raise
        return paths.study_file(text.removesuffix(QUICK)), text
    return file, studies.load(file).name


def _forms(name: str) -> tuple[str, ...]:
    """Names that results of a study go by: of the study, and of its short form."""
    return (name,) if name.endswith(QUICK) else (name, name + QUICK)


def _directory(results: str | Path, name: str) -> Path:
    if str(results):
        places = [paths.given_path(results), paths.root_dir() / results]
    elif name:
        forms = [paths.results_dir(form) for form in _forms(name)]
        places = sorted(forms, key=_measured_at, reverse=True)
    else:
        raise BadInput(
            "name a study, or the directory of its results", key="results", code="E-ANALYSIS-013"
        )
    for place in places:
        if place.is_dir():
            return place
    raise BadInput(
        "there is no such directory; measure the study first",
        key="results",
        value=str(results or places[0]),
        code="E-ANALYSIS-014",
    )


def _measured_at(directory: Path) -> float:
    """Time of the last change of a directory of results, s since the epoch; 0 without one."""
    files = [study_file(directory), *directory.glob("runs/*.parquet")]
    return max((file.stat().st_mtime for file in files if file.is_file()), default=0.0)


def _design(
    directory: Path, campaign: str | None, file: Path | None, name: str, measured: list[str]
) -> Study:
    """The study as the campaign measured it, else from its file."""
    kept = study_file(directory, campaign)
    if kept.is_file():
        design = studies.load_stored(kept)
        if not name or design.name in _forms(name):
            return design
        if file is None:
            message = f"holds runs of {design.name!r}, the study is {name!r}"
            raise BadInput(message, where=str(directory), key="study", code="E-ANALYSIS-018")
    if file is None:
        file = paths.study_file(measured[0].removesuffix(QUICK))
    design = studies.load(file)
    if measured == [design.name + QUICK]:
        return studies.load(file, quick=True)
    return design
