"""Generators side by side, as a notebook shows them."""

from __future__ import annotations

import pandas as pd

from netlab.analysis import agreement
from netlab.analysis.measured import Measured
from netlab.charts import agreement as drawn
from netlab.charts.chart import Gallery
from netlab.files.tables import Table
from netlab.report import agreement as tables
from netlab.report import answers
from netlab.report.tables import Sentence


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
        One row a cell and generator; see :func:`netlab.analysis.agreement.compare`.
    """

    def __init__(self, measured: Measured, bound_percent: float):
        self._measured, self.bound_percent = measured, bound_percent
        self.frame: pd.DataFrame = agreement.compare(
            measured.runs, confidence=measured.study.confidence, bound_percent=bound_percent
        )

    @property
    def charts(self) -> Gallery:
        """Differences from netlab's generator, one chart a path."""
        return drawn.differences(self.frame, self.bound_percent)

    @property
    def answer(self) -> Sentence:
        """The number of comparisons that agree, that differ, and that are undecided."""
        return answers.generators(self.frame, self.bound_percent)

    def summary(self) -> Table | Sentence:
        """Agreement by path and generator."""
        return tables.summary(self.frame)

    def generators(self) -> Table:
        """Generators with their versions and number of usable runs."""
        return tables.opening(self._measured)

    def statement(self) -> Sentence:
        """The number of cells of each path in which the generators agree."""
        return tables.statement(self._measured, self.frame, self.bound_percent)

    def cells(self) -> Table | Sentence:
        """Every cell: both goodputs, the difference with its interval, and the verdict."""
        return tables.cells(self._measured, self.frame)

    def meters(self) -> Table | Sentence:
        """Readings of the hosts' meters with each generator."""
        return tables.meters(self._measured)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_() + self.summary()._repr_html_()

    def __repr__(self) -> str:
        return f"{self.answer}\n{self.summary()!r}"
