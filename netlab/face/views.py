"""Views of results, as a notebook shows them: charts, tables, long paths, published tables."""

from __future__ import annotations

from functools import cached_property

import pandas as pd

from netlab.analysis import answers, then_and_now
from netlab.analysis.longpath_study import LongPath, samples_of
from netlab.analysis.measured import Measured
from netlab.charts import compare, longpath
from netlab.charts import measured as drawn
from netlab.charts import then_and_now as charts_then_and_now
from netlab.charts.chart import Chart, Gallery, show
from netlab.files.tables import Table
from netlab.report import compare as report_compare
from netlab.report import explore, front, tables
from netlab.report import longpath as report_longpath
from netlab.report import then_and_now as report_then_and_now
from netlab.report.longpath import Preformatted
from netlab.report.tables import Provenance, Sentence, Tables

# Charts of results, as a notebook shows them: finished, with alt text.


class ResultCharts:
    """Finished charts of results.

    Made by :attr:`netlab.Results.charts`. To draw on axes of your own use
    :meth:`netlab.Results.plot`.

    Parameters
    ----------
    measured : Measured
        The results.

    Examples
    --------
    >>> import netlab
    >>> netlab.Results("openlab-2003").charts.overhead()
    Chart: Histogram of the overhead of 280 runs: ...
    """

    def __init__(self, measured: Measured):
        self._measured = measured

    def opening(self) -> Chart | Gallery:
        """The chart that a report opens with: the group with a target, or else the first."""
        return front.picture(self._measured)

    def panels(self) -> Gallery:
        """Goodput of every group over streams, a panel a tuning."""
        return Gallery.of(*(front.panel(self._measured, group) for group in self._measured.groups))

    def by_factors(self, quantity: str = "goodput") -> Gallery:
        """The two factors with the most levels, for each combination of the others.

        Parameters
        ----------
        quantity : {"goodput", "percent"}
            MB/s, or per cent of the bus.
        """
        return explore.charts(self._measured, quantity)

    def drift(self) -> Chart:
        """Deviation of every valid run from its cell's mean, in the order of measuring."""
        return show(drawn.drift(self._measured.runs, study=self._measured.study))

    def overhead(self) -> Chart:
        """Histogram of the time of runs outside warm-up and window."""
        return show(drawn.overhead(self._measured.runs))


# Tables of results, as a notebook shows them.


class ResultTables:
    """Tables of results; a sentence stands in place of an empty one.

    Made by :attr:`netlab.Results.tables`. The ``frame`` of a table has its texts, its ``data`` the
    unrounded numbers.

    Parameters
    ----------
    measured : Measured
        The results.

    Examples
    --------
    >>> import netlab
    >>> tables = netlab.Results("openlab-2003").tables
    >>> tables.cells("percent").tables[0].data["percent_of_bus"].notna().all()
    np.True_
    >>> tables.missing()
    Every cell of the design has a valid run.
    """

    def __init__(self, measured: Measured):
        self._measured = measured

    def summary(self) -> Table:
        """Numbers of runs, cells and rounds, and the highest cell."""
        return tables.summary(self._measured)

    def groups(self) -> Table:
        """Groups: hosts, bus, and the best cell of each."""
        return tables.groups(self._measured)

    def cells(self, quantity: str = "goodput") -> Tables:
        """Cells of every group: tuning and MTU by streams.

        Parameters
        ----------
        quantity : {"goodput", "percent", "both", "bottleneck"}
            MB/s, per cent of the bus, both, or what bound the runs.
        """
        return tables.stack(self._measured, quantity)

    def factors(self) -> Table:
        """Factors that vary, with their levels."""
        return explore.levels(self._measured)

    def by_factors(self, quantity: str = "goodput") -> Tables:
        """Cells by the two factors with the most levels, for each combination of the others.

        Parameters
        ----------
        quantity : {"goodput", "percent", "both"}
            MB/s, per cent of the bus, or both.
        """
        return explore.stack(self._measured, quantity)

    def missing(self) -> Table | Sentence:
        """Cells without a valid run, with the reason."""
        return tables.missing(self._measured)

    def precision(self) -> Tables:
        """Precision of the cells, and each that is less precise than asked."""
        return tables.precision(self._measured)

    def effects(self) -> Table | Sentence:
        """Ratio of goodput for each step of each factor, pooled over the cases."""
        return tables.effects(self._measured)

    def target(self) -> Table | Sentence:
        """Target of each group, with the verdict."""
        return tables.target(self._measured)

    def flagged(self) -> Table | Sentence:
        """Flagged runs, with the reason."""
        return tables.flagged(self._measured)

    def unsupported(self) -> Table | Sentence:
        """Knobs that a host lacks, with the reason."""
        return tables.unsupported(self._measured)

    def stability(self) -> Table:
        """Tests for drift, a step and carry-over from the run before."""
        return tables.stability(self._measured)

    def noise(self) -> Table:
        """Steal, foreign load, drops, and the spread over rounds."""
        return tables.noise(self._measured)

    def overhead(self) -> Table:
        """Time of runs outside warm-up and window, by block."""
        return tables.overhead(self._measured)

    def provenance(self) -> Provenance:
        """Machines, versions, digests, settings and times of the measurement."""
        return tables.provenance(self._measured)


# Generators side by side, as a notebook shows them.


class Agreement:
    """Other generators compared with netlab's, cell by cell; shows itself as its summary.

    Made by :meth:`netlab.Results.agreement`.

    Parameters
    ----------
    measured : Measured
        The results.
    bound_percent : float
        Two generators agree if the interval of their difference lies within it.

    Attributes
    ----------
    frame : DataFrame
        One row a cell and generator; see :func:`netlab.analysis.answers.compare_generators`.
    """

    def __init__(self, measured: Measured, bound_percent: float):
        self._measured, self.bound_percent = measured, bound_percent
        self.frame: pd.DataFrame = answers.compare_generators(
            measured.runs, confidence=measured.study.confidence, bound_percent=bound_percent
        )

    @property
    def charts(self) -> Gallery:
        """Differences from netlab's generator, one chart a path."""
        return compare.differences(self.frame, self.bound_percent)

    @property
    def answer(self) -> Sentence:
        """The number of comparisons that agree, that differ, and that are undecided."""
        return front.generators(self.frame, self.bound_percent)

    def summary(self) -> Table | Sentence:
        """Agreement by path and generator."""
        return report_compare.summary(self.frame)

    def generators(self) -> Table:
        """Generators with their versions and number of usable runs."""
        return report_compare.opening(self._measured)

    def statement(self) -> Sentence:
        """The number of cells of each path in which the generators agree."""
        return report_compare.agreement_statement(self._measured, self.frame, self.bound_percent)

    def cells(self) -> Table | Sentence:
        """Every cell: both goodputs, the difference with its interval, and the verdict."""
        return report_compare.agreement_cells(self._measured, self.frame)

    def meters(self) -> Table | Sentence:
        """Readings of the hosts' meters with each generator."""
        return report_compare.meters(self._measured)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_() + self.summary()._repr_html_()

    def __repr__(self) -> str:
        return f"{self.answer}\n{self.summary()!r}"


# Results beside a published table that the study names, as a notebook shows them.


class PublishedBeside:
    """Results beside the published table of their study; shows itself as its steps.

    Made by :attr:`netlab.Results.published_beside`.

    Parameters
    ----------
    measured : Measured
        The results.

    Examples
    --------
    >>> import netlab
    >>> netlab.Results("openlab-2003").published_beside
    The study names no published table.
    ...
    """

    def __init__(self, measured: Measured):
        self._measured = measured

    @property
    def charts(self) -> Gallery:
        """Published and measured effect of each step; empty without a step."""
        return report_then_and_now.picture(self._measured)

    @property
    def answer(self) -> Sentence:
        """The number of published steps that recur."""
        return front.published_beside(self._measured)

    def steps(self) -> Table | Sentence:
        """Effect of each step of a factor in both, and the verdict on its recurrence."""
        return report_then_and_now.steps(self._measured)

    def cells(self) -> Table | Sentence:
        """Published and measured goodput, cell by cell."""
        return report_then_and_now.cells(self._measured)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_() + self.steps()._repr_html_()

    def __repr__(self) -> str:
        return f"{self.answer}\n{self.steps()!r}"


# Results over a long path, as a notebook shows them: stacks, recovery, fairness.


class LongPathResults:
    """Results over a long path with the samples of their runs; shows itself as its stacks.

    Made by :attr:`netlab.Results.long_path`. A *part* is a name that the study gives some of its
    groups, such as ``comparison``.

    Parameters
    ----------
    measured : Measured
        The results.
    """

    def __init__(self, measured: Measured):
        self._lp: LongPath = samples_of(measured)

    def runs_of(self, part: str, mtu_B: int | None = None) -> pd.DataFrame:
        """Runs of a part with their goodput after slow start.

        Parameters
        ----------
        part : str
            Name of the part.
        mtu_B : int, optional
            Only runs with frames of this size.
        """
        return self._lp.part(part) if mtu_B is None else self._lp.of(part, mtu_B)

    @property
    def answer(self) -> Sentence:
        """The least and the greatest mean goodput of the compared stacks."""
        return front.stacks(self._lp)

    # Charts. Each is empty without runs.

    def opening(self) -> Gallery:
        """Goodput over time of the compared stacks, a chart an MTU."""
        return longpath.opening(self._lp)

    def over_time(self, part: str, title: str, *, mtu_B: int | None = None) -> Gallery:
        """Goodput, window, RTT, retransmits and queue over time, a column a run.

        Parameters
        ----------
        part : str
            Name of the part.
        title : str
            Title of the figure.
        mtu_B : int, optional
            Only runs with frames of this size.
        """
        return longpath.over_time(self._lp, self.runs_of(part, mtu_B), title)

    def summary(self, part: str, title: str, *, mtu_B: int | None = None) -> Gallery:
        """Goodput of the stacks in one chart, and its blow-up: means over a second.

        Parameters
        ----------
        part, title, mtu_B
            As of :meth:`over_time`.
        """
        return longpath.summary(self._lp, self.runs_of(part, mtu_B), title)

    def recovery_chart(self, part: str, title: str) -> Gallery:
        """Window after a forced loss beside the law of the stack, a column a run.

        Parameters
        ----------
        part, title : str
            As of :meth:`over_time`.
        """
        return longpath.recoveries(self._lp, self.runs_of(part), title)

    def sharing(self, part: str, title: str) -> Gallery:
        """Goodput of each flow above Jain's index, a column a run.

        Parameters
        ----------
        part, title : str
            As of :meth:`over_time`.
        """
        return longpath.sharing(self._lp, self.runs_of(part), title)

    def goodput_by_run(self, part: str, title: str) -> Gallery:
        """Goodput after slow start with its interval, a row a run.

        Parameters
        ----------
        part, title : str
            As of :meth:`over_time`.
        """
        return longpath.configurations(self._lp, self.runs_of(part), title)

    # Tables.

    def stacks(self) -> Table:
        """Stacks with either MTU: goodput after slow start, and its bottleneck."""
        return report_longpath.stacks(self._lp)

    def form(self) -> Sentence:
        """The form of the study, whole or short, and the length of its runs."""
        return report_longpath.form(self._lp)

    def paths(self) -> Table:
        """Emulated paths: configuration, window needed, and measured delay and queue."""
        return report_longpath.paths(self._lp)

    def path_as_seen(self) -> Preformatted | Sentence:
        """Output of ping and traceroute for each path."""
        return report_longpath.path_as_seen(self._lp)

    def recoveries(self, part: str) -> Table | Sentence:
        """Recovery from a forced loss beside the law of each stack.

        Parameters
        ----------
        part : str
            Name of the part.
        """
        return report_longpath.recoveries(self._lp, part)

    def fairness(self, part: str) -> Table | Sentence:
        """Two flows: goodput of each, and Jain's index.

        Parameters
        ----------
        part : str
            Name of the part.
        """
        return report_longpath.fairness(self._lp, part)

    def configurations(self) -> Table:
        """The ten configurations of HS TCP in the page's order."""
        return report_longpath.configurations(self._lp)

    def changes(self) -> Table | Sentence:
        """Effect of single settings among the ten configurations, all else equal."""
        return report_longpath.changes(self._lp)

    def memory(self) -> Table | Sentence:
        """FAST with memory settings A and B."""
        return report_longpath.memory(self._lp)

    def transfer(self) -> Preformatted | Sentence:
        """The transfer of a fixed amount in rapid's format, beside the page's."""
        return report_longpath.transfer(self._lp)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_() + self.stacks()._repr_html_()

    def __repr__(self) -> str:
        return f"{self.answer}\n{self.stacks()!r}"


# Results beside the published study of 2003, as a notebook shows them.


class ThenAndNow:
    """Results beside the openlab report of 2003; shows itself as its findings.

    Made by :attr:`netlab.Results.then_and_now`.

    Parameters
    ----------
    measured : Measured
        The results.

    Examples
    --------
    >>> import netlab
    >>> found = netlab.Results("openlab-2003").then_and_now
    >>> found.frame["factor"].unique().tolist()
    ['jumbo frames', 'stream count', 'tuning', 'direction']
    """

    def __init__(self, measured: Measured):
        self._measured = measured

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row a step of a factor and group: ratio then and now, intervals and verdict.

        See :func:`netlab.analysis.then_and_now.compare` for the columns.
        """
        return then_and_now.compare(self._measured)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Cells that both studies have: goodput, ceiling and per cent of it, then and now."""
        return then_and_now.comparable(self._measured)

    @cached_property
    def opening(self) -> Gallery:
        """Charts of the first table of 2003 beside what is measured, one a tuning."""
        cells = self.cells
        return charts_then_and_now.beside(cells[cells["table"] == cells["table"].min()])

    @property
    def charts(self) -> Gallery:
        """Charts of all tables of 2003 beside what is measured, one a group and tuning."""
        cells = self.cells
        return self.opening + charts_then_and_now.beside(
            cells[cells["table"] > cells["table"].min()]
        )

    @property
    def answer(self) -> Sentence:
        """The number of effects of 2003 that recur, that do not, and that are undecided."""
        return front.then_and_now(self._measured, self.frame)

    def groups(self) -> Table | Sentence:
        """Groups of both studies with ceilings and best cells, or the reason for none."""
        return report_then_and_now.opening(self._measured)

    def statement(self) -> Tables:
        """One paragraph a factor: findings that recur, that do not, and undecided ones."""
        return report_then_and_now.statement(self._measured, self.frame)

    def summary(self) -> Table | Sentence:
        """Every finding over all groups."""
        return report_then_and_now.summary(self.frame)

    def ratios(self, factor: str) -> Gallery:
        """Charts of the effect of each step of a factor, then and now.

        Parameters
        ----------
        factor : {"jumbo frames", "stream count", "tuning", "direction"}
            The factor.
        """
        return charts_then_and_now.ratios(self.frame, factor)

    def of_factor(self, factor: str) -> Table | Sentence:
        """Findings of one factor by group, with the numbers of both studies.

        Parameters
        ----------
        factor : {"jumbo frames", "stream count", "tuning", "direction"}
            The factor.
        """
        return report_then_and_now.of_factor(self._measured, self.frame, factor)

    def findings(self) -> Table | Sentence:
        """Statements of the report of 2003 with their verdicts on these runs."""
        return report_then_and_now.findings(self._measured)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_() + self.summary()._repr_html_()

    def __repr__(self) -> str:
        return f"{self.answer}\n{self.summary()!r}"
