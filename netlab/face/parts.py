"""Parts of a study and of its results, each with a chart and a table: group, tuning, plan, run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from netlab.analysis.timeline import timelines
from netlab.files.tables import Table
from netlab.study import Group as GroupDesign
from netlab.study import Study as Design
from netlab.tuning.knobs import Knob
from netlab.units import arrows

FACTS = (
    *("group", "direction", "tuning", "mtu_B", "streams", "round", "goodput_MBps"),
    *("percent_of_bus", "busiest_core_percent", "retransmits", "flags", "message", "started_at"),
)
"""Columns of a run that are shown; the record has all."""


class Plan(pd.DataFrame):
    """Runs in the order of measuring: a frame that shows a chart above its rows."""

    _metadata: ClassVar[list[str]] = ["design"]

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        from netlab.charts.chart import show
        from netlab.charts.design import order

        return show(order(self, self.design))._repr_html_() + (super()._repr_html_() or "")


@dataclass(frozen=True)
class Group:
    """A group of a study: hosts, direction and cells.

    Parameters
    ----------
    study : netlab.study.Study
        The design it belongs to.
    design : netlab.study.Group
        Its content.
    plan : DataFrame
        Its runs.
    """

    study: Design
    design: GroupDesign
    plan: pd.DataFrame

    def _table(self) -> Table:
        group, study = self.design, self.study
        ends = [end.host for end in study.path(group.path).ends]
        bus = study.bus_MBps(group.path)
        rows = [
            ("hosts", " and ".join(ends)),
            ("sender", group.sender),
            ("direction", group.direction),
            ("bus of the slower host", "unknown" if bus is None else f"{bus:g} MB/s"),
            ("record length", f"{group.record_length_B} B"),
            ("socket buffer", f"{group.buffer_B} B" if group.buffer_B else "the kernel's"),
            ("cells", str(len(self.plan[self.plan["round"] == self.plan["round"].min()]))),
        ]
        return Table(pd.DataFrame(rows, columns=["item", "value"]), f"Group {group.name}")

    def _repr_html_(self) -> str:
        from netlab.charts.chart import show
        from netlab.charts.design import cells

        chart = show(cells(self.plan, self.study, f"Cells of {self.design.name}"))
        return chart._repr_html_() + self._table()._repr_html_()

    def __repr__(self) -> str:
        return repr(self._table())


@dataclass(frozen=True)
class Tuning:
    """A tuning of a study on one of its hosts: knobs and their values.

    Parameters
    ----------
    study : netlab.study.Study
        The design it belongs to.
    name : str
        Of the tuning.
    host : str
        Host that it is for: a study may give a host a variant.
    labels : dict
        Tunings of the study -> label.
    """

    study: Design
    name: str
    host: str
    labels: dict[str, str]

    def _knobs(self, name: str) -> list[Knob]:
        items = self.study.tuning_profile(self.host, name).items
        return [item for item in items if isinstance(item, Knob)]

    def _numbers(self, name: str) -> dict[str, float]:
        """Values that are one number, or the largest of several."""
        found = {}
        for knob in self._knobs(name):
            parts = knob.value.split()
            if all(part.isdecimal() for part in parts):
                found[knob.label] = max(map(float, parts))
        return found

    def _table(self) -> Table:
        rows = [(knob.label, knob.value, knob.source) for knob in self._knobs(self.name)]
        frame = pd.DataFrame(rows, columns=["knob", "value", "source"])
        return Table(frame, f"Tuning {self.labels[self.name]} of {self.host}")

    def _repr_html_(self) -> str:
        from netlab.charts.chart import show
        from netlab.charts.design import knob_values

        values = {label: self._numbers(name) for name, label in self.labels.items()}
        chart = show(knob_values(values, self.labels[self.name]))
        return chart._repr_html_() + self._table()._repr_html_()

    def __repr__(self) -> str:
        return repr(self._table())


@dataclass(frozen=True)
class Run:
    """One run: its record and its samples.

    Parameters
    ----------
    record : dict
        A row of :attr:`netlab.Results.runs`.
    samples : DataFrame
        Its rows of :attr:`netlab.Results.intervals`.
    """

    record: dict
    samples: pd.DataFrame

    def _table(self) -> Table:
        known = [name for name in FACTS if name in self.record]
        rows = [(name, _text(self.record[name])) for name in known]
        frame = pd.DataFrame(rows, columns=["column", "value"])
        return Table(frame, f"Run {self.record['run_id']}")

    def _repr_html_(self) -> str:
        from netlab.charts.chart import show
        from netlab.charts.design import samples

        table = self._table()._repr_html_()
        if self.samples.empty:
            return table
        return show(samples(timelines(self.samples), self.record["run_id"]))._repr_html_() + table

    def __repr__(self) -> str:
        return repr(self._table())


def _text(value: object) -> str:
    if not isinstance(value, str) and pd.isna(value):
        return "–"
    return f"{value:.5g}" if isinstance(value, float) else arrows(str(value))
