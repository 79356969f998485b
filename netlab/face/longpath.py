"""Results over a long path, as a notebook shows them: stacks, recovery, fairness."""

from __future__ import annotations

import pandas as pd

from netlab.analysis.longpath_study import LongPath, samples_of
from netlab.analysis.measured import Measured
from netlab.charts import longpath as drawn
from netlab.charts import longpath_runs
from netlab.charts.chart import Gallery
from netlab.files.tables import Table
from netlab.report import answers
from netlab.report import longpath as tables
from netlab.report.longpath import Preformatted
from netlab.report.tables import Sentence


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
        return answers.stacks(self._lp)

    # Charts. Each is empty without runs.

    def opening(self) -> Gallery:
        """Goodput over time of the compared stacks, a chart an MTU."""
        return drawn.opening(self._lp)

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
        return longpath_runs.over_time(self._lp, self.runs_of(part, mtu_B), title)

    def summary(self, part: str, title: str, *, mtu_B: int | None = None) -> Gallery:
        """Goodput of the stacks in one chart, and its blow-up: means over a second.

        Parameters
        ----------
        part, title, mtu_B
            As of :meth:`over_time`.
        """
        return drawn.summary(self._lp, self.runs_of(part, mtu_B), title)

    def recovery_chart(self, part: str, title: str) -> Gallery:
        """Window after a forced loss beside the law of the stack, a column a run.

        Parameters
        ----------
        part, title : str
            As of :meth:`over_time`.
        """
        return longpath_runs.recoveries(self._lp, self.runs_of(part), title)

    def sharing(self, part: str, title: str) -> Gallery:
        """Goodput of each flow above Jain's index, a column a run.

        Parameters
        ----------
        part, title : str
            As of :meth:`over_time`.
        """
        return longpath_runs.sharing(self._lp, self.runs_of(part), title)

    def goodput_by_run(self, part: str, title: str) -> Gallery:
        """Goodput after slow start with its interval, a row a run.

        Parameters
        ----------
        part, title : str
            As of :meth:`over_time`.
        """
        return drawn.configurations(self._lp, self.runs_of(part), title)

    # Tables.

    def stacks(self) -> Table:
        """Stacks with either MTU: goodput after slow start, and its bottleneck."""
        return tables.stacks(self._lp)

    def form(self) -> Sentence:
        """The form of the study, whole or short, and the length of its runs."""
        return tables.form(self._lp)

    def paths(self) -> Table:
        """Emulated paths: configuration, window needed, and measured delay and queue."""
        return tables.paths(self._lp)

    def path_as_seen(self) -> Preformatted | Sentence:
        """Output of ping and traceroute for each path."""
        return tables.path_as_seen(self._lp)

    def recoveries(self, part: str) -> Table | Sentence:
        """Recovery from a forced loss beside the law of each stack.

        Parameters
        ----------
        part : str
            Name of the part.
        """
        return tables.recoveries(self._lp, part)

    def fairness(self, part: str) -> Table | Sentence:
        """Two flows: goodput of each, and Jain's index.

        Parameters
        ----------
        part : str
            Name of the part.
        """
        return tables.fairness(self._lp, part)

    def configurations(self) -> Table:
        """The ten configurations of HS TCP in the page's order."""
        return tables.configurations(self._lp)

    def changes(self) -> Table | Sentence:
        """Effect of single settings among the ten configurations, all else equal."""
        return tables.changes(self._lp)

    def memory(self) -> Table | Sentence:
        """FAST with memory settings A and B."""
        return tables.memory(self._lp)

    def transfer(self) -> Preformatted | Sentence:
        """The transfer of a fixed amount in rapid's format, beside the page's."""
        return tables.transfer(self._lp)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_() + self.stacks()._repr_html_()

    def __repr__(self) -> str:
        return f"{self.answer}\n{self.stacks()!r}"
