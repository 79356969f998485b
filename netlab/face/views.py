"""Views of results, as a notebook shows them: charts, tables, agreement of generators."""

from __future__ import annotations

from itertools import chain

from netlab.analysis import tool_agreement
from netlab.analysis.cells import DATAGRAMS, LATENCY, OVER_TCP
from netlab.analysis.measured import Measured
from netlab.charts import comparisons
from netlab.charts import study_charts as drawn
from netlab.charts.chart import Chart, Gallery, show
from netlab.face.notebook import AnsweredView, View, made_by
from netlab.report import (
    agreement_tables,
    explore,
    front,
    notebook_answer,
    provenance_tables,
    tables,
    view_pages,
)
from netlab.report import shares as report_shares

LAID_OUT = "Cells by the two factors with the most levels, for each combination of the others:"


class ResultCharts(View):
    """Finished charts of results.

    Made by :attr:`netlab.Results.charts`. To draw on axes of your own use
    :meth:`netlab.Results.plot`.

    Examples
    --------
    >>> import netlab
    >>> netlab.Results("openlab-2003").charts.overhead()
    Chart: Histogram of the overhead of 420 runs: ...
    """

    opening = made_by(
        front.picture, "The chart that a report opens with: the group with a target, or the first."
    )
    by_factors = made_by(explore.charts, f"{LAID_OUT} ``goodput`` or ``percent`` of the bus.")

    def panels(self) -> Gallery:
        """Goodput of every group over streams, a panel a tuning."""
        return Gallery.of(*(front.panel(self._subject, group) for group in self._subject.groups))

    def drift(self) -> Chart:
        """Deviation of every valid run from its cell's mean, in the order of measuring."""
        return show(drawn.drift(self._subject.runs, study=self._subject.study))

    def latency(self) -> Gallery:
        """Latency that the load of each cell adds, over its goodput; empty without a probe."""
        drawn = (view_pages.charts_of(kind, self._subject).values() for kind in (LATENCY, OVER_TCP))
        return sum(chain(*drawn), Gallery())

    def shares(self) -> Gallery:
        """Shares of the stacks, Jain's index, streams over time; empty without several flows."""
        return sum(report_shares.drawn(self._subject).values(), Gallery())

    def loss(self) -> Gallery:
        """Part of the datagrams that each cell loses, over its goodput; empty without UDP."""
        return sum(view_pages.charts_of(DATAGRAMS, self._subject).values(), Gallery())

    def overhead(self) -> Chart:
        """Histogram of the time of runs outside warm-up and window."""
        return show(drawn.overhead(self._subject.runs))


class ResultTables(View):
    """Tables of results; a sentence stands in place of an empty one.

    Made by :attr:`netlab.Results.tables`. The ``frame`` of a table has its texts, its ``data`` the
    unrounded numbers.

    Examples
    --------
    >>> import netlab
    >>> tables = netlab.Results("openlab-2003").tables
    >>> tables.cells("percent").tables[0].data["percent_of_bus"].notna().all()
    np.True_
    >>> tables.missing()
    Every cell of the design has a valid run.
    """

    summary = made_by(tables.summary)
    groups = made_by(tables.groups)
    cells = made_by(
        tables.stack,
        "Cells of every group, tuning and MTU by streams: ``goodput`` in MB/s, ``percent`` of the "
        "bus, ``both``, or ``bottleneck``.",
    )
    factors = made_by(explore.levels, "Factors that vary, and the levels of each.")
    by_factors = made_by(
        explore.stack, f"{LAID_OUT} ``goodput``, ``percent`` of the bus, or ``both``."
    )
    missing = made_by(tables.missing)
    precision = made_by(tables.precision)
    effects = made_by(tables.effects)
    target = made_by(tables.target)
    flagged = made_by(tables.flagged)
    unsupported = made_by(tables.unsupported)
    stability = made_by(tables.stability)
    noise = made_by(tables.noise)
    shares = made_by(report_shares.stacks)
    jain_index = made_by(report_shares.jain)
    newcomers = made_by(report_shares.newcomers)
    stream_shares = made_by(report_shares.streams)
    latency = made_by(tables.latency)
    latency_percentiles = made_by(tables.latency_percentiles)
    latency_over_tcp = made_by(tables.latency_over_tcp)
    datagrams = made_by(tables.datagrams)
    overhead = made_by(tables.overhead)
    provenance = made_by(provenance_tables.provenance)


class Agreement(AnsweredView):
    """Other generators, B, compared with netlab's, A, cell by cell; shows itself as its summary.

    Made by :meth:`netlab.Results.agreement`.

    Attributes
    ----------
    frame : DataFrame
        One row a cell and generator: ``ratio`` (B / A), ``low``, ``high``, ``verdict``; see
        :data:`netlab.analysis.tool_agreement.COMPARED_COLUMNS` for the other columns.
    """

    def __init__(self, measured: Measured, bound_percent: float):
        super().__init__(tool_agreement.agreement(measured, bound_percent))
        self.frame, self.bound_percent = self._subject.frame, bound_percent

    @property
    def charts(self) -> Gallery:
        """Differences from netlab's generator, one chart a path."""
        return comparisons.differences(self.frame, self.bound_percent)

    answer = property(made_by(notebook_answer.generators))
    summary = _table = made_by(agreement_tables.summary)
    generators = made_by(agreement_tables.opening)
    statement = made_by(agreement_tables.agreement_statement)
    cells = made_by(agreement_tables.agreement_cells)
    meters = made_by(agreement_tables.meters)
