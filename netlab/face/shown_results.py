"""What a notebook shows of results: sentences, tables, charts, and the results beside others."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from netlab.face.stored import StoredResults

if TYPE_CHECKING:
    from netlab.face.agreement import Agreement
    from netlab.face.beside import PublishedBeside
    from netlab.face.charts import ResultCharts
    from netlab.face.longpath import LongPathResults
    from netlab.face.tables import ResultTables
    from netlab.face.then_and_now import ThenAndNow
    from netlab.report.front import Answer
    from netlab.report.gate import Banner
    from netlab.report.tables import Sentence


class ShownResults(StoredResults):
    """Views of the results of a study, each with a table or chart; see :class:`netlab.Results`."""

    @property
    def answer(self) -> Sentence:
        """The highest goodput in each direction, in a sentence."""
        from netlab.report import answers

        return answers.measured(self.measured)

    @property
    def headline(self) -> Answer:
        """The result in a few sentences."""
        from netlab.report import front

        return front.answer(self.measured)

    @property
    def strongest(self) -> Sentence:
        """The step of a factor with the largest effect on goodput, in a sentence."""
        from netlab.report import answers

        return answers.strongest(self.measured)

    @property
    def gate(self) -> Banner:
        """The quality gate: passed, or each concern and what to do about it."""
        from netlab.report import front

        return front.banner(self.measured)

    @cached_property
    def tables(self) -> ResultTables:
        """Tables of the results, ready to be shown."""
        from netlab.face.tables import ResultTables

        return ResultTables(self.measured)

    @cached_property
    def charts(self) -> ResultCharts:
        """Charts of the results, finished; :meth:`plot` draws on axes."""
        from netlab.face.charts import ResultCharts

        return ResultCharts(self.measured)

    @cached_property
    def then_and_now(self) -> ThenAndNow:
        """These results beside the openlab report of 2003."""
        from netlab.face.then_and_now import ThenAndNow

        return ThenAndNow(self.measured)

    @cached_property
    def published_beside(self) -> PublishedBeside:
        """These results beside the published table that their study names."""
        from netlab.face.beside import PublishedBeside

        return PublishedBeside(self.measured)

    @cached_property
    def long_path(self) -> LongPathResults:
        """These results with the samples of their runs: stacks, recovery, fairness."""
        from netlab.face.longpath import LongPathResults

        return LongPathResults(self.measured)

    def agreement(self, bound_percent: float = 2.0) -> Agreement:
        """Compare other generators with netlab's, cell by cell.

        Parameters
        ----------
        bound_percent : float
            Two generators agree if the interval of their difference lies within it.

        Returns
        -------
        Agreement
            Shows itself as its summary; its ``frame`` has one row a cell and generator.

        Examples
        --------
        >>> import netlab
        >>> netlab.Results("openlab-2003").agreement().frame.empty  # one generator measured it
        True
        """
        from netlab.face.agreement import Agreement

        return Agreement(self.measured, bound_percent)
