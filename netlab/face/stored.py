"""Stored results of a study as frames: runs, cells and samples, and runs by their levels."""

from __future__ import annotations

import html
import itertools
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from netlab.analysis import printed
from netlab.analysis.measured import Measured, cell_table, load_measured
from netlab.errors import check
from netlab.face.parts import Run
from netlab.files import paths
from netlab.files.tables import Sentence
from netlab.results.store import Store
from netlab.study import QUICK, Study
from netlab.study.factors import level_text

# Results of the user's own, else the example that comes with netlab, and which of them they are.


def own_or_example(name: str | Path) -> str | Path:
    """The name of a study, or the directory of its example where the user has no results of it."""
    study = str(name).removesuffix(QUICK)
    example = paths.example(study)
    own = (paths.results_dir(form).is_dir() for form in (study, study + QUICK))
    measured = "/" not in study and any((example / one).is_dir() for one in ("runs", "fleet"))
    return example if measured and not any(own) else name


@dataclass(frozen=True)
class Example(Sentence):
    """Names an example, with the command that measures one's own: a click selects it."""

    command: str

    def _repr_html_(self) -> str:
        code = (
            f'<pre style="user-select:all;white-space:pre-wrap">{html.escape(self.command)}</pre>'
        )
        return f"{super()._repr_html_()}<p>To measure your own, in a terminal:</p>{code}"

    def __repr__(self) -> str:
        return f"{self.text} To measure your own, in a terminal: {self.command}"


def source(
    study: Study, directory: Path, runs: pd.DataFrame, command: Sequence[str] = ()
) -> Sentence:
    """Say which results are shown; of an example also the command that measures one's own."""
    measured = f"{study.name}, measured on {runs['started_at'].max():%Y-%m-%d}"
    if not directory.is_relative_to(paths.example("")):
        return Sentence(f"Results of {measured}.")
    outer = [
        [f"--outer={name}={level_text(level)}" for level in levels]
        for name, levels in study.outer.items()
    ]
    words = command or ("run", study.name.removesuffix(QUICK), "--quick")
    # A terminal of JupyterLab is a login shell in a directory of its own, with a PATH of its own.
    root, program = paths.root_dir(), Path(sys.executable).with_name("netlab")
    if program.is_relative_to(root):
        program = program.relative_to(root)
    calls = [(str(program), *words, *options) for options in itertools.product(*outer)]
    shell = " && ".join(map(shlex.join, [("cd", str(root)), *calls]))
    return Example(f"Example that comes with netlab: {measured}.", shell)


FACTORS = ("group", "path", "direction", "tuning", "mtu_B", "streams")


class StoredResults:
    """Frames of the results of a study; see :class:`netlab.Results`, which shows them as well."""

    def __init__(self, name: str | Path, *, results: str | Path = "", superseded: bool = False):
        self._superseded = superseded
        own = isinstance(name, str) and "/" not in name and paths.results_dir(name).is_dir()
        if str(results):
            self.measured: Measured = load_measured(results, name)
        elif not own and any((paths.given_path(name) / "runs").glob("*.parquet")):
            self.measured = load_measured(name)
        else:
            found = own_or_example(name)
            self.measured = load_measured("", name) if found is name else load_measured(found)

    @property
    def name(self) -> str:
        """Name of the study as it was measured."""
        return self.measured.study.name

    @property
    def directory(self) -> Path:
        """Directory of the results."""
        return self.measured.results

    @property
    def source(self) -> Sentence:
        """Which results these are; of an example also the command that measures one's own."""
        return source(self.measured.study, self.directory, self.measured.runs)

    @property
    def groups(self) -> list[str]:
        """Names of the groups."""
        return self.measured.groups

    @cached_property
    def runs(self) -> pd.DataFrame:
        """All runs, one row each, flagged ones included.

        With ``superseded=True`` all records ever measured, by start; the column ``superseded``
        says whether another counts in its place, ``campaign`` which campaign measured it. Cells
        are always of the records that count. Each further factor of the study has a column.

        Examples
        --------
        >>> import netlab
        >>> runs = netlab.Results("openlab-2003").runs
        >>> valid = runs[runs["flags"] == ""]
        >>> valid.groupby("tuning")["goodput_MBps"].count().to_dict()
        {'full': 120, 'kernel': 80, 'none': 80}
        """
        runs = self.measured.runs
        if self._superseded:
            runs = Store(self.directory).runs(superseded=True)
        return printed.expanded(runs, self.measured.study)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """All cells of the design, one row each, with the columns of ``docs/columns.md``.

        A cell is all rounds of one combination of factors; each further factor of the study has a
        column. ``goodput_MBps`` is the geometric mean of the goodput of its valid runs in
        MB/s = 10^6 B/s, ``low_MBps`` and ``high_MBps`` are its interval over rounds. ``n_valid``
        counts the valid runs, ``n_flagged`` those left out. ``percent_of_bus`` and its interval are
        missing without a known bus. ``attrs["units"]`` has the unit of each column that has one.
        ``bottleneck`` is what bound most of the runs, from
        :mod:`netlab.analysis.conditions`. ``missing_because`` gives the reason for a cell without a
        valid run; ``disturbed_MBps`` is the median of its runs that ended, ``disturbed`` their
        flags.

        Examples
        --------
        >>> import netlab
        >>> cells = netlab.Results("openlab-2003").cells
        >>> cells[["tuning", "mtu_B", "streams", "n_valid", "bottleneck"]].head(2)
          tuning  mtu_B  streams  n_valid bottleneck
        0   none   1500        1        2     window
        1   none   1500        4        2        CPU
        >>> cells.attrs["units"]["goodput_MBps"]
        'MB/s'
        >>> bool(cells["low_MBps"].isna().all())  # two rounds carry no interval
        True
        """
        return cell_table(self.measured)

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """Interval samples of all runs: bytes of each stream and round trips, sample by sample.

        Examples
        --------
        >>> import netlab
        >>> samples = netlab.Results("openlab-2003").intervals
        >>> samples.columns.tolist()[:7]
        ['run_id', 'direction', 'stream', 't_s', 'interval_s', 'bytes', 'in_window']
        """
        return Store(self.directory).rows("intervals", campaign=self.measured.campaign)

    def run(self, run_id: str) -> Run:
        """One run by its id; shows its goodput over time and its figures.

        Parameters
        ----------
        run_id : str
            Id of the run, as in the column of :attr:`runs`.

        Returns
        -------
        Run
            Shows itself as chart and table.

        Raises
        ------
        BadInput
            No run has the id.

        Examples
        --------
        >>> import netlab
        >>> results = netlab.Results("openlab-2003")
        >>> results.run(results.runs["run_id"].iloc[0])
        Run ...
        """
        part = self.runs_of(run_id=run_id)
        samples = self.intervals
        return Run(part.iloc[-1].to_dict(), samples[samples["run_id"] == run_id])

    def runs_of(self, **levels: object) -> pd.DataFrame:
        """Select runs by the levels of their factors.

        Parameters
        ----------
        **levels
            Column of :attr:`runs` and the value wanted, or a list of values.

        Returns
        -------
        DataFrame
            Rows of :attr:`runs`; empty for a combination that was not measured.

        Raises
        ------
        BadInput
            The runs have no such column, or no run and no cell of the study has the value.

        Examples
        --------
        >>> import netlab
        >>> results = netlab.Results("openlab-2003")
        >>> found = results.runs_of(tuning="full", mtu_B=9000, streams=[1, 4])
        >>> found.groupby(["group", "streams"]).size().unique().tolist()
        [2]
        """
        found = self.runs
        for column in levels:
            text = f"the runs have no such column; factors are {', '.join(FACTORS)}"
            check(column in found, column, None, text, "E-FACE-002")
        for column, wanted in levels.items():
            values = list(wanted) if isinstance(wanted, list | tuple | set) else [wanted]
            designed = self.cells[column].dropna() if column in self.cells else []
            known = sorted({*self.runs[column].dropna(), *designed})
            listed = ", ".join(map(str, known[:12])) + ", ..." * (len(known) > 12)
            for value in values:
                text = f"no run has this value; there are {listed}"
                check(value in known, column, value, text, "E-FACE-003")
            found = found[found[column].isin(values)]
        return found
