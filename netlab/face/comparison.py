"""A comparison as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from netlab.analysis.sides import SidesCompared as Sides

if TYPE_CHECKING:
    from netlab.charts.compare import Axes


class Comparison:
    """Two sets of results, compared cell by cell; shows itself as tables.

    Made by :meth:`netlab.Results.compare`.

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
