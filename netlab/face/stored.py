"""Stored results of a study as frames: runs, cells and samples, and runs by their levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import pandas as pd

from netlab.analysis import any_factors, tidy
from netlab.analysis.bottlenecks import of_runs
from netlab.analysis.measured import Measured, cell_table, load_measured, with_units
from netlab.analysis.shares import with_shares
from netlab.errors import check
from netlab.face.example_results import own_or_example, source
from netlab.face.parts import Run
from netlab.files import paths
from netlab.files.tables import Sentence
from netlab.results.campaign_files import ids, named_campaign, study_file
from netlab.results.store import Store

OF_EVERY_RUN = ("group", "path", "direction", "tuning", "mtu_B", "streams")


class StoredResults:
    """Frames of the results of a study; see :class:`netlab.Results`, which shows them as well."""

    def __init__(self, name: str | Path, *, results: str | Path = "", superseded: bool = False):
        self._superseded = superseded
        own = isinstance(name, str) and "/" not in name and paths.results_dir(name).is_dir()
        place = paths.given_path(results) if str(results) else None
        one = named_campaign(name, place) if place is None or "@" in str(name) else None
        if one and (place is None or place == one[0]):
            directory, campaign = one
            self.measured: Measured = load_measured(directory, study_file(directory, campaign))
        elif place is not None:
            self.measured = load_measured(results, name)
        elif not own and _is_directory_of_results(name):
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
        """Source of the results; of an example also the command that measures one's own."""
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
        Levels that are text are ordered categoricals, in the order of the study; other text is of
        type ``string``; ``attrs["units"]`` has the unit of each column that has one.
        ``bottleneck`` is by the rules of this netlab, as that of cells.

        Examples
        --------
        >>> import netlab
        >>> runs = netlab.Results("openlab-2003").runs
        >>> valid = runs[runs["flags"] == ""]
        >>> valid.groupby("tuning")["goodput_MBps"].count().to_dict()
        {'none': 120, 'kernel': 120, 'full': 180}
        """
        runs = self.measured.runs
        if self._superseded:
            runs = Store(self.directory).runs(superseded=True)
            runs = runs.assign(bottleneck=of_runs(runs))
        study = self.measured.study
        return with_units(tidy.typed(any_factors.expanded(runs, study), study))

    @cached_property
    def cells(self) -> pd.DataFrame:
        """All cells of the design, one row each, with the columns of ``docs/columns.md``.

        A cell is all rounds of one combination of factors; each further factor of the study has a
        column. ``goodput_MBps`` is the geometric mean of the goodput of its valid runs in
        MB/s = 10^6 B/s, ``low_MBps`` and ``high_MBps`` are its interval over rounds. ``n_valid``
        counts the valid runs, ``n_flagged`` those left out. ``percent_of_bus`` and its interval are
        missing without a known bus. ``attrs["units"]`` has the unit of each column that has one.
        ``bottleneck`` is what bound most of the runs, from :mod:`netlab.analysis.bottlenecks`.
        ``missing_because`` gives the reason for a cell without a valid run; ``disturbed_MBps`` is
        the median of its runs that ended, ``disturbed`` their flags.

        Examples
        --------
        >>> import netlab
        >>> cells = netlab.Results("openlab-2003").cells
        >>> cells[["tuning", "mtu_B", "streams", "n_valid", "bottleneck"]].head(2)
          tuning  mtu_B  streams  n_valid bottleneck
        0   none   1500        1        3     window
        1   none   1500        4        3        CPU
        >>> cells.attrs["units"]["goodput_MBps"]
        'MB/s'
        >>> bool((cells["low_MBps"] < cells["high_MBps"]).all())  # three rounds carry an interval
        True
        """
        m = self.measured
        return tidy.typed(with_shares(m, cell_table(m)), m.study)

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

    @cached_property
    def rates(self) -> pd.DataFrame:
        """Rate of every stream over time: one row a run, direction, stream and interval.

        After the factors of the run, its ``round`` and its ``flags``:

        ====================  =================================================================
        column                meaning
        ====================  =================================================================
        ``stream_direction``  forward or reverse; ``direction`` is the factor, ``->`` or ``<->``
        ``stream``            stream, from 0
        ``sample``            number of the interval, 0 for the first within the window
        ``t_window_s``        end of the interval, s from the start of the window, which is that
                              of the first stream
        ``rate_MBps``         payload in the interval over its length, 10^6 B/s; missing for an
                              interval without length
        ====================  =================================================================

        and the other columns of :attr:`intervals`.

        Examples
        --------
        >>> import netlab
        >>> rates = netlab.Results("openlab-2003").rates
        >>> within = rates[rates["in_window"]]
        >>> bool((within["t_window_s"] > 0).all() and (within["sample"] >= 0).all())
        True
        """
        return tidy.rates(self.measured)

    @cached_property
    def knobs(self) -> pd.DataFrame:
        """Knobs as they were read back: one row a run, host and knob.

        After the factors of the run, its ``round`` and its ``flags``: ``host``, ``knob``,
        ``value`` as text, and ``unsupported``, the reason why the host does not have a knob of the
        tuning; such a row has no value.

        Examples
        --------
        >>> import netlab
        >>> knobs = netlab.Results("openlab-table-2").knobs
        >>> sack = knobs[knobs["knob"] == "net.ipv4.tcp_sack"]
        >>> sack.drop_duplicates(["tuning", "value"])[["tuning", "value"]].to_dict("list")
        {'tuning': ['none', 'kernel', 'full'], 'value': ['1', '0', '0']}
        """
        return tidy.knobs(self.measured)

    @cached_property
    def settings(self) -> pd.DataFrame:
        """Settings of every run besides knobs: one row a run, host and setting.

        After the factors of the run, its ``round`` and its ``flags``: ``host``, empty for what
        belongs to the run; ``setting``, such as ``policy.batch_B`` of the host as sender or
        receiver, ``host.kernel`` and ``link.tso``; and ``value`` as text, missing where it is
        unknown.

        Examples
        --------
        >>> import netlab
        >>> settings = netlab.Results("openlab-table-2").settings
        >>> settings.query("setting == 'host.cpu_model'")["value"].unique().tolist()
        ['AMD EPYC']
        """
        return tidy.settings(self.measured)

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
        [3]
        """
        found = self.runs
        for column in levels:
            text = f"the runs have no such column; factors are {', '.join(OF_EVERY_RUN)}"
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


def _is_directory_of_results(name: str | Path) -> bool:
    """True of a directory that is named by its path, or holds records, or a campaign without."""
    place = paths.given_path(name)
    if not place.is_dir():
        return False
    return "/" in str(name) or bool(Store(place).parts() or ids(place))


def export(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a frame for another program: Stata, R, a spreadsheet, or Python again.

    Parameters
    ----------
    frame : DataFrame
        Any frame, such as those of :class:`netlab.Results`; names of its index become columns.
    path : path-like
        File to write or to replace, see :func:`netlab.files.paths.given_path`; its suffix is the
        format:

        ======================  ===============================================================
        suffix                  format
        ======================  ===============================================================
        ``.csv``                text for a spreadsheet, in which no text is taken for a formula
        ``.xlsx``               a workbook of one sheet, for Excel or LibreOffice: times are UTC,
                                text is never a formula
        ``.dta``                Stata 14 or later: levels have value labels in their order,
                                variables their unit as label, times are UTC, missing text is
                                empty; a name with a hyphen has ``_`` there
        ``.arrow, .feather``    Arrow: ``arrow::read_ipc_file`` of R gives ordered factors
        ``.parquet``            Parquet, with the units of ``attrs``
        ======================  ===============================================================

    Returns
    -------
    Path
        The file.

    Raises
    ------
    BadInput
        Another suffix, or more rows or longer texts than a sheet takes.
    NetlabError
        The file cannot be written.

    Examples
    --------
    >>> import netlab
    >>> import pandas as pd
    >>> path = netlab.export(netlab.Results("openlab-2003").cells, "cells.dta")
    >>> pd.read_stata(path)["tuning"].cat.categories.tolist()
    ['none', 'kernel', 'full']
    """
    from netlab.files.frame_files import write_frame

    text = "must be a frame, such as results.cells"
    check(isinstance(frame, pd.DataFrame), "frame", type(frame).__name__, text, "E-FACE-044")
    return write_frame(frame, paths.given_path(path))


def _levels(frame: pd.DataFrame) -> dict[str, pd.Index]:
    """Levels of each column that is a categorical."""
    types = {str(name): dtype for name, dtype in frame.dtypes.items()}
    return {n: t.categories for n, t in types.items() if isinstance(t, pd.CategoricalDtype)}


class Concatenated:
    """Frames of several results, one below the other; made by :func:`netlab.concat`.

    Each has a column ``results`` first, whose levels are in the order given. A factor has the
    levels of all results.
    """

    def __init__(self, results: Mapping[str, StoredResults]):
        self.results = dict(results)

    def _frame(self, of: Callable[[StoredResults], pd.DataFrame]) -> pd.DataFrame:
        frames = {name: of(one) for name, one in self.results.items()}
        # as objects, since levels of several lists have no order before all are known
        plain = [frame.astype(dict.fromkeys(_levels(frame), object)) for frame in frames.values()]
        whole = pd.concat(plain, ignore_index=True)
        whole.insert(0, "results", [name for name, frame in frames.items() for _ in frame.index])
        types = {"results": tidy.ordered(frames)}
        for name in dict.fromkeys(name for frame in frames.values() for name in _levels(frame)):
            known = (_levels(frame).get(name, frame.get(name, ())) for frame in frames.values())
            levels = [level for each in known for level in pd.Series(each).dropna().unique()]
            types[name] = tidy.ordered(levels)
        return with_units(whole.astype(types))

    @cached_property
    def runs(self) -> pd.DataFrame:
        """All runs, as :attr:`netlab.Results.runs`."""
        return self._frame(lambda results: results.runs)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """All cells, as :attr:`netlab.Results.cells`."""
        return self._frame(lambda results: results.cells)

    @cached_property
    def rates(self) -> pd.DataFrame:
        """Rates of all streams, as :attr:`netlab.Results.rates`."""
        return self._frame(lambda results: results.rates)

    @cached_property
    def knobs(self) -> pd.DataFrame:
        """Knobs of all runs, as :attr:`netlab.Results.knobs`."""
        return self._frame(lambda results: results.knobs)

    @cached_property
    def settings(self) -> pd.DataFrame:
        """Settings of all runs, as :attr:`netlab.Results.settings`."""
        return self._frame(lambda results: results.settings)

    def __repr__(self) -> str:
        names = (f"{name}: {one.name}, {len(one.runs)} runs" for name, one in self.results.items())
        return "\n".join(names)
