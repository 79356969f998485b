"""A comparison as a notebook shows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netlab.analysis.compare import SAME_WITHIN_PERCENT
from netlab.analysis.sides import SidesCompared as Sides
from netlab.analysis.sides import comparison
from netlab.face.stored import StoredResults
from netlab.report import compare as tables

if TYPE_CHECKING:
    from netlab.charts.chart import Gallery
    from netlab.charts.compare import Axes
    from netlab.files.tables import Table
    from netlab.report.tables import Sentence


def compare(
    a: StoredResults | str | Path,
    b: StoredResults | str | Path | None = None,
    *,
    by: str = "",
    same_within: float = SAME_WITHIN_PERCENT,
) -> Comparison:
    """Compare two sets of results, or two levels of a factor within one.

    Parameters
    ----------
    a, b : Results, str or path
        The sides: results, their directory or the name of a study, either with ``@CAMPAIGN``.
        Without `b`, or with an empty one, `by` names two levels within `a`.
    by : str
        ``COLUMN=a,b`` in place of `b`: two levels of a factor.
    same_within : float
        Bound of *the same*, per cent.

    Returns
    -------
    Comparison
        Ratios B / A with intervals that hold at once; shows itself as tables.

    Raises
    ------
    BadInput
        Neither or both of `b` and `by`, unknown results, or levels that were not measured.
    NetlabError
        No cell has a valid run on both sides.

    Examples
    --------
    >>> import netlab
    >>> found = netlab.compare("openlab-2003", by="tuning=none,full")
    >>> found.frame["verdict"].unique().tolist()
    ['cannot tell']
    """
    given = [one for one in (a, b) if one is not None and one != ""]
    sides = [one.measured if isinstance(one, StoredResults) else one for one in given]
    return Comparison(comparison(sides, by=by, same_within_percent=same_within))


class Comparison:
    """Two sets of results, compared cell by cell; shows itself as tables.

    Made by :func:`netlab.compare` and :meth:`netlab.Results.compare`.

    Parameters
    ----------
    sides : netlab.analysis.sides.SidesCompared
        Both sides, loaded and compared.
    """

    def __init__(self, sides: Sides):
        self.sides = sides

    @property
    def frame(self) -> pd.DataFrame:
        """One row a cell that both sides have: ``ratio`` (B / A), ``low``, ``high``, ``verdict``.

        See :data:`netlab.analysis.compare.FIGURES` for the other columns.
        """
        return self.sides.compared.frame

    @property
    def only(self) -> pd.DataFrame:
        """Cells with a valid run on one side alone."""
        return self.sides.compared.only

    @property
    def differences(self) -> pd.DataFrame:
        """Recorded conditions that differ between the sides: ``item, a, b``."""
        return self.sides.differences

    @property
    def answer(self) -> Sentence:
        """The effect over all cells."""
        from netlab.report.answers import sides

        return sides(self.sides)

    @property
    def charts(self) -> Gallery:
        """Forest plots of all cells: one, or one a group if there are many cells."""
        from netlab.charts.compare import panels

        return panels(self.sides.compared)

    @property
    def tables(self) -> ComparisonTables:
        """Tables of the comparison."""
        return ComparisonTables(self.sides)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a forest plot: every cell with its interval.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; new ones by default. No global theme is set.
        """
        from netlab.charts.compare import forest

        return forest(self.sides.compared, ax=ax)

    def _repr_html_(self) -> str:
        from netlab.report.compare import tables

        return tables(self.sides)._repr_html_()

    def __repr__(self) -> str:
        from netlab.report.compare import as_text

        return as_text(self.sides)


class ComparisonTables:
    """Tables of a comparison; a sentence stands in place of an empty one.

    Parameters
    ----------
    sides : netlab.analysis.sides.SidesCompared
        Both sides, loaded and compared.
    """

    def __init__(self, sides: Sides):
        self._sides = sides

    def cells(self) -> Table:
        """Every cell, by verdict and size of the effect."""
        return tables.cells(self._sides)

    def sides(self) -> Table:
        """Both sides: study, campaign, time and number of runs."""
        return tables.sides(self._sides)

    def differences(self) -> Table | Sentence:
        """Recorded conditions that differ; what is compared comes first."""
        return tables.differences(self._sides)

    def statement(self) -> Sentence:
        """The overall effect, then the number of cells of each verdict."""
        return tables.statement(self._sides)

    def only(self) -> Table | Sentence:
        """Cells that only one side has."""
        return tables.only(self._sides)
