"""A measured study, loaded: its file, its stored runs, and the cells they make."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pandas as pd

from netlab import study as studies
from netlab import wings
from netlab.analysis import any_factors, cells, printed
from netlab.analysis.bottlenecks import of_runs, verdicts
from netlab.analysis.cells import CELL_KEYS, Cells
from netlab.analysis.findings import findings
from netlab.analysis.order_effects import stability
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.results.campaign_files import folder, ids, latest_directory, names_here, study_file
from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS
from netlab.results.store import CUT_COPY, Damaged, Store
from netlab.study import QUICK, Study, is_name

MadeT = TypeVar("MadeT")

PARTS_AT_ONCE = 100
"""Files whose samples are in memory together; each has those of one visit."""


class Samples(Protocol):
    """Interval samples of the runs that count, read when asked for."""

    def __call__(self, run_ids: Collection[str] | None) -> pd.DataFrame:
        """Samples of some runs, by their ids, or of all."""

    def batches(self, only: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """Samples of all runs, those of some at a time, in their order; all of a run together.

        Some columns only, if they are named.
        """


@dataclass(frozen=True, eq=False)
class SamplesInMemory:
    intervals: pd.DataFrame

    def __call__(self, run_ids: Collection[str] | None) -> pd.DataFrame:
        frame = self.intervals
        return frame if run_ids is None else frame[frame["run_id"].isin(run_ids)]

    def batches(self, only: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        frame, wanted = self.intervals, {"run_id", *only}
        yield frame[[name for name in frame if name in wanted]] if only else frame


@dataclass(frozen=True, eq=False)
class StoredSamples:
    store: Store
    places: pd.DataFrame
    """Part and run id of each run that counts."""

    def __call__(self, run_ids: Collection[str] | None) -> pd.DataFrame:
        places = self.places
        return self._read(places if run_ids is None else places[places["run_id"].isin(run_ids)])

    def batches(self, only: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        part = self.places["part"].astype(str)
        parts = sorted(part.unique())
        for start in range(0, len(parts), PARTS_AT_ONCE):
            some = part.isin(parts[start : start + PARTS_AT_ONCE])
            yield self._read(self.places[some], only)

    def _read(self, places: pd.DataFrame, only: Collection[str] = ()) -> pd.DataFrame:
        return self.store.rows_of("intervals", places, only)


def computed_once(analysis: Callable[[Measured], MadeT]) -> Callable[[Measured], MadeT]:
    """Decorator: a later call for the same results gives the same object, which nobody changes."""

    @wraps(analysis)
    def stored(m: Measured) -> MadeT:
        if analysis not in m._made:
            m._made[analysis] = analysis(m)
        return m._made[analysis]

    return stored


@computed_once
def published_values(m: Measured) -> pd.DataFrame | None:
    """Cells that were published, beside what is measured of them; None if no wing knows any."""
    known = (find(m) for find in wings.published())
    return next((values for values in known if len(values)), None)


@dataclass(frozen=True)
class Measured:
    study: Study
    runs: pd.DataFrame
    cells: pd.DataFrame
    bottlenecks: pd.DataFrame
    results: Path
    samples: Samples | None = None
    """They are a hundred times as many as the runs."""
    campaign: str | None = None
    damaged: tuple[str, ...] = ()
    """Fault of each damaged file of the results."""
    _made: dict[Callable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """All but what is computed from it, by functions that have no name to be pickled by."""
        return {**self.__dict__, "_made": {}}

    @property
    @computed_once
    def intervals(self) -> pd.DataFrame | None:
        """Interval samples of all runs; None of results that have none."""
        return None if self.samples is None else self.samples(None)

    @property
    @computed_once
    def findings(self) -> pd.DataFrame:
        return findings(self.runs, self.study)

    @property
    @computed_once
    def stability(self) -> pd.DataFrame:
        return stability(self.runs)

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in the order of their tables."""
        return printed.group_names(self.cells)

    def table(self, group: str, quantity: str = "goodput") -> pd.DataFrame:
        """One group laid out as the report prints it; see :func:`printed.as_printed`."""
        return printed.as_printed(self.cells, group, study=self.study, quantity=quantity)


def cell_table(m: Measured) -> pd.DataFrame:
    """The cells as Python and the downloads show them, with their units in ``attrs``."""
    frame = any_factors.expanded(m.cells, m.study)
    frame.insert(0, "study", m.study.name)
    return with_units(frame)


def with_units(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the unit of each column that has one in ``attrs["units"]``."""
    known = {column.name: column.unit for column in (*RUN_COLUMNS, *INTERVAL_COLUMNS)}
    units = {name: known.get(name) or _unit(name) for name in map(str, frame.columns)}
    frame.attrs["units"] = {name: unit for name, unit in units.items() if unit}
    return frame


def _unit(name: str) -> str:
    parts = name.split("_")
    return "%" if "percent" in parts else (any_factors.UNITS | {"s": "s"}).get(parts[-1], "")


def from_frames(
    study: Study, runs: pd.DataFrame, intervals: pd.DataFrame | None, results: Path
) -> Measured:
    """Make cells and bottlenecks of frames that are already in memory."""
    return _measured(
        study, runs, None if intervals is None else SamplesInMemory(intervals), results
    )


def _measured(study: Study, runs: pd.DataFrame, samples: Samples | None, results: Path) -> Measured:
    intervals = None if samples is None else samples(_alone(runs))
    runs = runs.assign(bottleneck=of_runs(runs))
    cells = Cells.of(study)(runs, intervals, study)
    verdict_frame = verdicts(runs, runs["bottleneck"])
    cells = cells.merge(verdict_frame[[*CELL_KEYS, "bottleneck"]], on=list(CELL_KEYS), how="left")
    return Measured(study, runs, cells, verdict_frame, results, samples)


def _alone(runs: pd.DataFrame) -> set[str]:
    """Valid runs that are the only one of their cell: samples make the interval within them."""
    good = cells.valid(runs)
    return set(good.loc[~good.duplicated(list(CELL_KEYS), keep=False), "run_id"])


def load_measured(results: str | Path = "", study: str | Path = "") -> Measured:
    """Load a store and the study it was measured for."""
    loaded = load_runs(results, study, samples=True)
    made = _measured(loaded.study, loaded.runs, loaded.samples, loaded.results)
    return replace(made, campaign=loaded.campaign, damaged=loaded.damaged)


@dataclass(frozen=True, eq=False)
class LoadedRuns:
    """The runs of a store that count, and the study they were measured for."""

    study: Study
    runs: pd.DataFrame
    samples: Samples
    results: Path
    campaign: str | None
    damaged: tuple[str, ...]


def load_runs(
    results: str | Path = "",
    study: str | Path = "",
    *,
    only: Collection[str] = (),
    samples: bool = False,
) -> LoadedRuns:
    """Load runs without their cells; some columns only, if they are named.

    With `samples` their files are checked, so that a damaged one is known.
    """
    file, name = _named(study, results) if str(study) else (None, "")
    directory = _directory(results, name)
    # one campaign for runs and design: another may begin meanwhile
    campaigns = ids(directory)
    campaign = campaigns[-1] if campaigns else None
    for one in campaigns if file else ():  # the campaign that stored this study
        if file == (folder(directory, one) / "study.yml").resolve():
            campaign = one
            break
    # collected, not caught as warnings: their filters are of the process, which has other threads
    damaged: list[str] = []
    store = Store(directory, damaged.append)
    runs, places = store.counting(campaign, {*only, "study"} if only else ())
    if samples:
        store.check_samples(places)
    for message in damaged:
        warnings.warn(message, Damaged, stacklevel=3)
    if runs.empty:
        before = [] if campaign is None else campaigns[: campaigns.index(campaign)]
        if before and store.parts():
            raise NetlabError(
                f"campaign {campaign} in {directory} has no runs yet; those of {before[-1]} and "
                "before are kept. Try again when it has some",
                code="E-ANALYSIS-042",
            )
        text = f"{directory} holds no runs; measure the study first"
        if campaign is not None:
            text = f"{directory} holds no runs yet: campaign {campaign} has stored none"
            text += ". Try again when it has some, or measure the study again"
        raise NetlabError(text, code="E-ANALYSIS-011")
    names = sorted(runs["study"].unique())
    design = _design(directory, campaign, file, name, names)
    if names != [design.name]:
        text = f"holds runs of {', '.join(map(repr, names))}, the study is {design.name!r}"
        raise BadInput(text, where=str(directory), key="study", code="E-ANALYSIS-012")
    samples_of_runs = StoredSamples(Store(directory, _known_since_the_check), places)
    return LoadedRuns(design, runs, samples_of_runs, directory, campaign, tuple(damaged))


def _known_since_the_check(_message: str) -> None:
    """Ignore the damage of a file of samples."""


def _named(study: str | Path, results: str | Path) -> tuple[Path | None, str]:
    """File and name of a study; no file for a name that only results go by."""
    text = str(study)
    try:
        file = paths.study_file(study)
    except BadInput as error:
        if is_name(text) and (str(results) or paths.results_dir(text).is_dir()):
            return None, text
        if is_name(text) and not text.endswith(QUICK):
            message = error.message + names_here()
            raise BadInput(message, key="study", value=text, code="E-ANALYSIS-050") from None
        if not is_name(text):
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
        places = [latest_directory(name)]
    else:
        text = "name a study, or the directory of its results"
        raise BadInput(text, key="results", code="E-ANALYSIS-013")
    text, value = "there is no such directory; measure the study first", str(results or places[0])
    chosen = next((place for place in places if place.is_dir()), None)
    if chosen is None:
        raise BadInput(text, key="results", value=value, code="E-ANALYSIS-014")
    return chosen


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
            message = (
                f"holds runs of {design.name!r}, the study is {name!r}; a directory that was "
                f"renamed is named by its path, {shlex.quote(str(directory))}"
            )
            raise BadInput(message, where=str(directory), key="study", code="E-ANALYSIS-018")
    if file is None:
        try:
            file = paths.study_file(measured[0].removesuffix(QUICK))
        except BadInput:
            reason = f"{kept} is missing, which says what the runs are of"
            raise NetlabError(f"{reason}: {CUT_COPY}", code="E-ANALYSIS-053") from None
    design = studies.load(file)
    return studies.load(file, quick=True) if measured == [design.name + QUICK] else design
