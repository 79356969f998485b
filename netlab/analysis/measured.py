"""Load a measured study: its file, its stored runs, and the cells they make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlab import study as studies
from netlab.analysis import printed
from netlab.analysis.bottleneck import verdicts
from netlab.analysis.cells import Cells
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.results import Store
from netlab.study import Study

QUICK_SUFFIX = "-quick"


@dataclass(frozen=True)
class Measured:
    """A study with what was measured for it.

    Parameters
    ----------
    study : Study
        The design; its level of confidence is used throughout.
    runs : DataFrame
        All stored runs, flagged ones included.
    cells : DataFrame
        From :class:`~netlab.analysis.cells.Cells`, flagged runs left out.
    bottlenecks : DataFrame
        From :func:`~netlab.analysis.bottleneck.verdicts`.
    results : Path
        Directory of the store.
    """

    study: Study
    runs: pd.DataFrame
    cells: pd.DataFrame
    bottlenecks: pd.DataFrame
    results: Path

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in the order of their tables."""
        return printed.group_names(self.cells)

    def table(self, group: str, quantity: str = "goodput") -> pd.DataFrame:
        """One group laid out as the report prints it; see :func:`printed.as_printed`."""
        return printed.as_printed(
            self.cells,
            group,
            study=self.study,
            quantity=quantity,
            bottlenecks=self.bottlenecks,
        )


def from_frames(
    study: Study, runs: pd.DataFrame, intervals: pd.DataFrame | None, results: Path
) -> Measured:
    """Make cells and bottlenecks of frames that are already in memory."""
    cells = Cells(confidence=study.confidence)(runs, intervals, study)
    return Measured(study, runs, cells, verdicts(runs), results)


def load_measured(results: str | Path, study: str | Path) -> Measured:
    """Load a store and the study it was measured for.

    Parameters
    ----------
    results : path-like
        Directory of a :class:`netlab.results.Store`; a relative path that is not found from here
        is taken from the checkout.
    study : path-like
        The study's YAML file, or the name of one in ``data/studies``. Results of its quick
        timing are recognised by their name.

    Raises
    ------
    BadInput
        The directory does not exist, or holds results of another study.
    NetlabError
        It holds no runs, or files that cannot be read as results.
    """
    directory = Path(results)
    if not directory.is_dir():
        directory = paths.root_dir() / directory
    if not directory.is_dir():
        raise BadInput(
            "there is no such directory; measure the study first", key="results", value=str(results)
        )
    store = Store(directory)
    runs = store.runs()
    if runs.empty:
        raise NetlabError(f"{directory} holds no runs; measure the study first")
    names = sorted(runs["study"].unique())
    file = paths.study_file(study)
    design = studies.load(file)
    if names == [design.name + QUICK_SUFFIX]:
        design = studies.load(file, quick=True)
    if names != [design.name]:
        raise BadInput(
            f"holds runs of {', '.join(map(repr, names))}, the study is {design.name!r}",
            where=str(directory),
            key="study",
        )
    return from_frames(design, runs, store.intervals(), directory)
