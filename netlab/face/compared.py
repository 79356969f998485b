"""A comparison as a notebook shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

import pandas as pd

from netlab.analysis.compare import SAME_WITHIN_PERCENT, Compared
from netlab.analysis.sides import SidesCompared as Sides
from netlab.analysis.sides import comparison, comparisons
from netlab.errors import check
from netlab.face.example_results import own_or_example, source
from netlab.face.notebook import View, made_by
from netlab.face.stored import StoredResults
from netlab.files.tables import Sentence, Table
from netlab.report import compare as tables
from netlab.report import compare_all

if TYPE_CHECKING:
    from netlab.charts.chart import Gallery
    from netlab.charts.forest import Axes


@overload
def compare(
    a: StoredResults | str | Path,
    b: StoredResults | str | Path | None = None,
    *,
    by: str = "",
    same_within: float = SAME_WITHIN_PERCENT,
    repeats: Sequence[StoredResults | str | Path] = (),
) -> Comparison: ...
@overload
def compare(
    a: StoredResults | str | Path,
    b: StoredResults | str | Path,
    c: StoredResults | str | Path,
    /,
    *more: StoredResults | str | Path,
    same_within: float = SAME_WITHIN_PERCENT,
    repeats: Sequence[StoredResults | str | Path] = (),
) -> Comparisons: ...
def compare(
    a: StoredResults | str | Path,
    b: StoredResults | str | Path | None = None,
    *more: StoredResults | str | Path,
    by: str = "",
    same_within: float = SAME_WITHIN_PERCENT,
    repeats: Sequence[StoredResults | str | Path] = (),
) -> Comparison | Comparisons:
    """Compare two sets of results, several with the first one, or two levels of a factor.

    Parameters
    ----------
    a, b : Results, str or path
        The sides: results, their directory or the name of a study, either with ``@CAMPAIGN``.
        Without `b`, or with an empty one, `by` names two levels within `a`.
    *more : Results, str or path
        Further results, each compared with `a`, the reference. All comparisons are one family.
    by : str
        ``COLUMN=a,b`` in place of `b`: two levels of a factor.
    same_within : float
        Bound of *the same*, per cent.
    repeats : sequence of Results, str or path
        Further campaigns under the conditions of `a`, at least two: no difference that their
        shifts from one to another explain is *faster* or *slower*.

    Returns
    -------
    Comparison or Comparisons
        Ratios B / A with intervals that hold at once; shows itself as tables. With `more` the
        ratios of each to `a`; ``[0]`` is the comparison of `b`, ``[1]`` that of the next.

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
    ['faster', 'cannot tell']
    """
    sides = [
        side.measured if isinstance(side, StoredResults) else own_or_example(side)
        for side in (a, b, *more)
        if side is not None and not (isinstance(side, str) and side == "")
    ]
    several = isinstance(repeats, list | tuple)
    text = "must be a list of results, such as [c, d]"
    check(several, "repeats", str(repeats), text, "E-FACE-046")
    again = [one.measured if isinstance(one, StoredResults) else one for one in repeats]
    if more and not by:
        every = comparisons(sides, same_within_percent=same_within, repeats=again)
        return Comparisons(every)
    return Comparison(comparison(sides, by=by, same_within_percent=same_within, repeats=again))


class Comparison:
    """Two sets of results, compared cell by cell; shows itself as tables.

    Made by :func:`netlab.compare` and :meth:`netlab.Results.compare`.
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
    def source(self) -> Sentence:
        """Results of side A; of an example also the command that measures one's own."""
        side = self.sides.a
        return source(side.study, side.directory, side.runs)

    @property
    def answer(self) -> Sentence:
        """The effect over all cells."""
        from netlab.report.notebook_answer import sides

        return sides(self.sides)

    @property
    def charts(self) -> Gallery:
        """Forest plots of all cells: one, or one a group if there are many cells."""
        from netlab.charts.comparisons import comparison_charts

        return comparison_charts(self.sides.compared)

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
        from netlab.charts.comparisons import cell_forest

        return cell_forest(self.sides.compared, ax=ax)

    def _repr_html_(self) -> str:
        return tables.tables(self.sides)._repr_html_()

    def __repr__(self) -> str:
        return tables.as_text(tables.tables(self.sides))


class Comparisons:
    """Several results, each compared with one reference; shows itself as tables.

    Made by :func:`netlab.compare` of more than two results. The cells of all comparisons are one
    family: their intervals hold at once, and one test by Holm decides *faster* and *slower*.
    """

    def __init__(self, every: Sequence[Sides]):
        self.every = tuple(every)

    @property
    def frame(self) -> pd.DataFrame:
        """One row a cell and side: ``side`` (B, C, ...), ``results``, then as of two results.

        Cells of one side alone stand last, with ``only in`` it as verdict.
        """
        return compare_all.frame_of_all(self.every)

    @property
    def differences(self) -> Table | Sentence:
        """Recorded conditions in which a side differs from the reference."""
        return compare_all.differences_of_all(self.every)

    @property
    def answer(self) -> Sentence:
        """The effect of each side over all cells."""
        return compare_all.statement_of_all(self.every)

    @property
    def charts(self) -> Gallery:
        """Forest plots of all cells, a colour a side: one, or one a group of many cells."""
        from netlab.charts.comparisons import family_charts

        return family_charts(self._named())

    @property
    def tables(self) -> ComparisonsTables:
        """Tables of the comparisons."""
        return ComparisonsTables(self.every)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a forest plot: every cell with its interval, a colour a side.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; new ones by default. No global theme is set.
        """
        from netlab.charts.comparisons import family_forest

        return family_forest(self._named(), ax=ax)

    def _named(self) -> dict[str, Compared]:
        names = zip(compare_all.letters(self.every), self.every, strict=True)
        return {f"{name}: {Path(one.b.label).name}": one.compared for name, one in names}

    def __len__(self) -> int:
        return len(self.every)

    def __getitem__(self, place: int) -> Comparison:
        """The comparison of one side with the reference, in the order in which they were given."""
        return Comparison(self.every[place])

    def _repr_html_(self) -> str:
        return compare_all.tables_of_all(self.every)._repr_html_()

    def __repr__(self) -> str:
        return tables.as_text(compare_all.tables_of_all(self.every))


class ComparisonsTables(View):
    """Tables of several comparisons; a sentence stands in place of an empty one."""

    cells = made_by(compare_all.cells_of_all)
    sides = made_by(compare_all.all_sides)
    differences = made_by(compare_all.differences_of_all)
    statement = made_by(compare_all.statement_of_all)
    only = made_by(compare_all.only_of_all)


class ComparisonTables(View):
    """Tables of a comparison; a sentence stands in place of an empty one."""

    cells = made_by(tables.cells)
    sides = made_by(tables.sides)
    differences = made_by(tables.differences)
    statement = made_by(tables.statement)
    only = made_by(tables.only)
