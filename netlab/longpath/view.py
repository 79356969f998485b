"""Results over a long path, as a notebook shows them."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from netlab.analysis.measured import Measured
from netlab.charts.chart import Gallery
from netlab.face.notebook import AnsweredView, made_by
from netlab.longpath import charts, run_charts, sentences, tables
from netlab.longpath.analysis import LongPath, samples_of


def drawn_by(draw: Callable[[LongPath, pd.DataFrame, str], Gallery]) -> Callable[..., Gallery]:
    """Define a method that draws the runs of a part; empty without runs."""

    def method(self, part: str, title: str, *, mtu_B: int | None = None) -> Gallery:
        return draw(self._subject, self.runs_of(part, mtu_B), title)

    frames = "Of the runs of a part, with `mtu_B` only those with frames of this size."
    method.__doc__ = f"{draw.__doc__}\n\n        {frames}"
    return method


class LongPathResults(AnsweredView):
    """Results over a long path with the samples of their runs; shows itself as its stacks.

    Made by :attr:`netlab.Results.long_path`. A *part* is a name that the study gives some of its
    groups, such as ``comparison``.
    """

    def __init__(self, measured: Measured):
        super().__init__(samples_of(measured))

    def runs_of(self, part: str, mtu_B: int | None = None) -> pd.DataFrame:
        """Runs of a part with their goodput after slow start, of one frame size if it is given."""
        lp: LongPath = self._subject
        return lp.part(part, mtu_B)

    answer = property(made_by(sentences.stacks))
    opening = made_by(charts.opening)
    over_time = drawn_by(run_charts.over_time)
    summary = drawn_by(charts.summary)
    recovery_chart = drawn_by(run_charts.recoveries)
    sharing = drawn_by(run_charts.sharing)
    goodput_by_run = drawn_by(charts.configurations)

    stacks = _table = made_by(tables.stacks)
    form = made_by(tables.form)
    paths = made_by(tables.paths)
    path_as_seen = made_by(tables.path_as_seen)
    recoveries = made_by(tables.recoveries)
    fairness = made_by(tables.fairness)
    configurations = made_by(tables.configurations)
    changes = made_by(tables.changes)
    memory = made_by(tables.memory)
    transfer = made_by(tables.transfer)
