"""First screen of a report: the answer in sentences, a chart, and how far to trust both."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field

from netlab.analysis.headline import headline
from netlab.analysis.longpath_study import on_long_path, samples_of
from netlab.analysis.measured import Measured, computed_once
from netlab.charts import longpath as longpath_charts
from netlab.charts import measured as charts
from netlab.charts.chart import Chart, Gallery, show
from netlab.report.factors import charts as factor_charts
from netlab.report.factors import has_factors
from netlab.report.gate import banner, box

__all__ = ["Answer", "Front", "answer", "banner", "front", "panel", "picture"]


@dataclass(frozen=True)
class Answer:
    """The result in sentences, as a notebook shows it."""

    sentences: tuple[str, ...]

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)

    def __repr__(self) -> str:
        return "\n".join(self.sentences)


@dataclass(frozen=True)
class Front:
    """First screen of the index besides its chart, :func:`picture`."""

    sentences: tuple[str, ...]
    box: list[tuple[str, str]]
    pages: Mapping[str, str] = field(default_factory=dict)


def front(m: Measured) -> Front:
    """The first screen of a measured study."""
    return Front(headline(m), box(m))


def answer(m: Measured) -> Answer:
    """The result of a measured study in sentences."""
    return Answer(headline(m))


def picture(m: Measured) -> Chart | Gallery:
    """Panel of the group with a target, else of the first; on a long path the summary.

    A group of disturbed or empty cells is taken only if no group has a valid run.
    """
    if on_long_path(m):
        return longpath_charts.opening(samples_of(m))
    if has_factors(m):
        return factor_charts(m, most=1)
    wanted = [g.name for g in m.study.groups if g.target_percent_of_bus is not None]
    names = [*(name for name in wanted if name in m.groups), *m.groups]
    with_value = set(m.cells.loc[m.cells["n_valid"] > 0, "group"])
    return panel(m, next((name for name in names if name in with_value), names[0]))


def panel(m: Measured, group: str) -> Chart:
    """Goodput of a group over streams, one chart a tuning; drawn once, since it is shown twice."""
    drawn = _panels(m)
    if group not in drawn:
        drawn[group] = show(charts.panels(m.cells, group, study=m.study))
    return drawn[group]


@computed_once
def _panels(m: Measured) -> dict[str, Chart]:
    return {}
