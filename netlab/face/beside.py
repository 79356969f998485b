"""Results beside a published table that the study names, as a notebook shows them."""

from __future__ import annotations

from netlab.analysis.measured import Measured
from netlab.charts.chart import Gallery
from netlab.files.tables import Table
from netlab.report import answers, beside
from netlab.report.tables import Sentence


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
        return beside.picture(self._measured)

    @property
    def answer(self) -> Sentence:
        """The number of published steps that recur."""
        return answers.published_beside(self._measured)

    def steps(self) -> Table | Sentence:
        """Effect of each step of a factor in both, and the verdict on its recurrence."""
        return beside.steps(self._measured)

    def cells(self) -> Table | Sentence:
        """Published and measured goodput, cell by cell."""
        return beside.cells(self._measured)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_() + self.steps()._repr_html_()

    def __repr__(self) -> str:
        return f"{self.answer}\n{self.steps()!r}"
