"""Results beside published figures, as a notebook shows them."""

from __future__ import annotations

from functools import cached_property

from netlab.charts.chart import Gallery
from netlab.face.notebook import AnsweredView, made_by
from netlab.openlab import own_table, sentences, tables, then_and_now
from netlab.openlab.figures import beside as beside_charts


class PublishedBeside(AnsweredView):
    """Results beside the published table of their study; shows itself as its steps.

    Made by :attr:`netlab.Results.published_beside`.

    Examples
    --------
    >>> import netlab
    >>> netlab.Results("openlab-2003").published_beside
    The study names no published table.
    ...
    """

    charts = property(made_by(own_table.picture))
    answer = property(made_by(sentences.published_beside))
    steps = _table = made_by(own_table.steps)
    cells = made_by(own_table.cells)


class ThenAndNow(AnsweredView):
    """Results beside the openlab report of 2003; shows itself as its findings.

    Made by :attr:`netlab.Results.then_and_now`.

    Attributes
    ----------
    frame : DataFrame
        One row a step of a factor and group: ratio then and now, intervals and verdict; see
        :data:`netlab.openlab.then_and_now.COMPARED_COLUMNS`.
    cells : DataFrame
        Cells that both studies have: goodput, ceiling and per cent of it, then and now.

    Examples
    --------
    >>> import netlab
    >>> found = netlab.Results("openlab-2003").then_and_now
    >>> found.frame["factor"].unique().tolist()
    ['jumbo frames', 'stream count', 'tuning', 'direction']
    """

    frame = property(made_by(then_and_now.compare))
    cells = property(made_by(then_and_now.comparable))

    @cached_property
    def opening(self) -> Gallery:
        """Charts of the first table of 2003 beside what is measured, one a tuning."""
        cells = self.cells
        return beside_charts.beside(cells[cells["table"] == cells["table"].min()])

    @property
    def charts(self) -> Gallery:
        """Charts of all tables of 2003 beside what is measured, one a group and tuning."""
        cells = self.cells
        return self.opening + beside_charts.beside(cells[cells["table"] > cells["table"].min()])

    def ratios(self, factor: str) -> Gallery:
        """Charts of the effect of each step of a factor, then and now."""
        return beside_charts.ratios(self.frame, factor)

    answer = property(made_by(sentences.then_and_now))
    groups = made_by(tables.opening)
    statement = made_by(tables.statement)
    summary = _table = made_by(tables.summary)
    of_factor = made_by(tables.of_factor)
    findings = made_by(tables.findings)
