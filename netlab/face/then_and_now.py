"""Results beside the published study of 2003, as a notebook shows them."""

from __future__ import annotations

from functools import cached_property

import pandas as pd

from netlab.analysis import then_and_now
from netlab.analysis.measured import Measured
from netlab.charts import then_and_now as drawn
from netlab.charts.chart import Gallery
from netlab.files.tables import Table
from netlab.report import answers
from netlab.report import then_and_now as tables
from netlab.report.tables import Sentence, Tables


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
        return drawn.beside(cells[cells["table"] == cells["table"].min()])

    @property
    def charts(self) -> Gallery:
        """Charts of all tables of 2003 beside what is measured, one a group and tuning."""
        cells = self.cells
        return self.opening + drawn.beside(cells[cells["table"] > cells["table"].min()])

    @property
    def answer(self) -> Sentence:
        """The number of effects of 2003 that recur, that do not, and that are undecided."""
        return answers.then_and_now(self._measured, self.frame)

    def groups(self) -> Table | Sentence:
        """Groups of both studies with ceilings and best cells, or the reason for none."""
        return tables.opening(self._measured)

    def statement(self) -> Tables:
        """One paragraph a factor: findings that recur, that do not, and undecided ones."""
        return tables.statement(self._measured, self.frame)

    def summary(self) -> Table | Sentence:
        """Every finding over all groups."""
        return tables.summary(self.frame)

    def ratios(self, factor: str) -> Gallery:
        """Charts of the effect of each step of a factor, then and now.

        Parameters
        ----------
        factor : {"jumbo frames", "stream count", "tuning", "direction"}
            The factor.
        """
        return drawn.ratios(self.frame, factor)

    def of_factor(self, factor: str) -> Table | Sentence:
        """Findings of one factor by group, with the numbers of both studies.

        Parameters
        ----------
        factor : {"jumbo frames", "stream count", "tuning", "direction"}
            The factor.
        """
        return tables.of_factor(self._measured, self.frame, factor)

    def findings(self) -> Table | Sentence:
        """Statements of the report of 2003 with their verdicts on these runs."""
        return tables.findings(self._measured)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_() + self.summary()._repr_html_()

    def __repr__(self) -> str:
        return f"{self.answer}\n{self.summary()!r}"
