"""Parts of a study and of its results, each with a chart and a table: group, tuning, plan, run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from netlab.analysis.batches import timelines
from netlab.files.tables import Table
from netlab.results.flags import meaning_of, remedy_of, split_flags
from netlab.study import Group as GroupDesign
from netlab.study import Study
from netlab.tuning.knobs import Knob
from netlab.units import arrows, plain

if TYPE_CHECKING:
    from netlab.charts.chart import Panels
    from netlab.charts.forest import Axes

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


class ChartedTable(ABC):
    """A part that shows a chart above its table; matplotlib is loaded when it is shown."""

    @abstractmethod
    def _chart(self) -> Axes | Panels | None:
        """The chart; None without anything to draw."""

    @abstractmethod
    def _table(self) -> Table:
        """The table below it."""

    def _repr_html_(self) -> str:
        from netlab.charts.chart import show

        drawn = self._chart()
        chart = "" if drawn is None else show(drawn)._repr_html_()
        return chart + self._table()._repr_html_()

    def __repr__(self) -> str:
        return repr(self._table())


@dataclass(frozen=True, repr=False)
class Group(ChartedTable):
    """A group of a study: hosts, direction and cells; `plan` has its runs."""

    study: Study
    design: GroupDesign
    plan: pd.DataFrame

    def _table(self) -> Table:
        group, study = self.design, self.study
        *others, last = study.path(group.path).hosts
        bus = study.bus_MBps(group.path)
        rows = [
            ("hosts", f"{', '.join(others)} and {last}"),
            ("sender", " and ".join(study.senders(group))),
            ("direction", group.direction),
            ("bus of the slower host", "unknown" if bus is None else f"{bus:g} MB/s"),
            (
                "record length",
                f"{group.record_length_B} B" if group.record_length_B else "fills a packet",
            ),
            ("socket buffer", f"{group.buffer_B} B" if group.buffer_B else "the kernel's"),
            ("cells", str(len(self.plan[self.plan["round"] == self.plan["round"].min()]))),
        ]
        return Table(pd.DataFrame(rows, columns=["item", "value"]), f"Group {group.name}")

    def _chart(self) -> Axes:
        from netlab.charts.design import cells

        return cells(self.plan, self.study, f"Cells of {self.design.name}")


@dataclass(frozen=True, repr=False)
class Tuning(ChartedTable):
    """A tuning of a study on one of its hosts, which may have a variant: knobs and their values."""

    study: Study
    name: str
    host: str
    labels: dict[str, str]
    """Of all tunings of the study."""

    def _knobs(self, name: str) -> list[Knob]:
        items = self.study.tuning_profile(self.host, name).items
        return [item for item in items if isinstance(item, Knob)]

    def _numbers(self, name: str) -> dict[str, float]:
        """Values that are one number, or the largest of several."""
        values = {knob.label: knob.value.split() for knob in self._knobs(name)}
        numeric = {
            label: parts for label, parts in values.items() if all(map(str.isdecimal, parts))
        }
        return {label: max(map(float, parts)) for label, parts in numeric.items()}

    def _table(self) -> Table:
        rows = [(knob.label, knob.value, knob.source) for knob in self._knobs(self.name)]
        frame = pd.DataFrame(rows, columns=["knob", "value", "source"])
        return Table(frame, f"Tuning {self.labels[self.name]} of {self.host}")

    def _chart(self) -> Axes:
        from netlab.charts.design import knob_values

        values = {label: self._numbers(name) for name, label in self.labels.items()}
        return knob_values(values, self.labels[self.name])


@dataclass(frozen=True, repr=False)
class Run(ChartedTable):
    """One run: a row of :attr:`netlab.Results.runs`, and those of its intervals."""

    record: dict
    samples: pd.DataFrame

    def _table(self) -> Table:
        known = [name for name in FACTS if name in self.record]
        rows = [(name, _text(self.record[name])) for name in known]
        for flag in split_flags(self.record.get("flags")):
            rows.append((f"{flag} means", meaning_of(flag)))
            rows.append((f"for {flag}", remedy_of(flag)))
        frame = pd.DataFrame(rows, columns=["column", "value"])
        return Table(frame, f"Run {self.record['run_id']}")

    def _chart(self) -> Axes | Panels | None:
        from netlab.charts.run_samples import samples, under_load_panels

        if self.samples.empty:
            return None
        has_probe = self.samples["rtt_p50_us"].notna().any()
        draw = under_load_panels if has_probe else samples
        return draw(timelines(self.samples), self.record["run_id"])


def _text(value: object) -> str:
    if not isinstance(value, str) and pd.isna(value):
        return "–"
    return plain(value, ".5g") if isinstance(value, float) else arrows(str(value))
