"""Parts of a study and of its results, each with a chart and a table: group, tuning, plan, run."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from netlab.analysis.batches import timelines
from netlab.errors import check
from netlab.files.tables import Table
from netlab.results.flags import meaning_of, remedy_of, split_flags
from netlab.study import Group as GroupDesign
from netlab.study import Study
from netlab.tuning.knobs import Knob
from netlab.tuning.plan_text import plan_html, plan_text
from netlab.units import arrows

if TYPE_CHECKING:
    from netlab.charts.chart import Panels
    from netlab.charts.forest import Axes
    from netlab.hosts.host import Host
    from netlab.tuning.plan import Change


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
        from netlab.charts.measured import order

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
        from netlab.charts.measured import cells

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
        from netlab.charts.measured import knob_values

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
        from netlab.charts.measured import samples, under_load_panels

        if self.samples.empty:
            return None
        has_probe = self.samples["rtt_p50_us"].notna().any()
        draw = under_load_panels if has_probe else samples
        return draw(timelines(self.samples), self.record["run_id"])


def _text(value: object) -> str:
    if not isinstance(value, str) and pd.isna(value):
        return "–"
    return f"{value:.5g}" if isinstance(value, float) else arrows(str(value))


# Changes that a study's tunings make on its hosts, as a diff.

COLUMNS = ("path", "tuning", "mtu_B", "host", "knob", "old", "new", "supported", "reason", "source")


@dataclass(frozen=True)
class HostChanges:
    """Changes of a tuning on one host of a path, one a knob in the order they are applied."""

    path: str
    tuning: str
    mtu_B: int | None
    host: str
    changes: tuple[Change, ...]

    @property
    def heading(self) -> str:
        """``path, tuning, MTU: host``."""
        mtu = "as found" if self.mtu_B is None else self.mtu_B
        return f"{self.path}, {self.tuning}, MTU {mtu}: {self.host}"


@dataclass(frozen=True)
class Changes:
    """Changes of settings, host by host; shows itself as a diff.

    ``-`` is the value found, ``+`` the value applied, ``!`` a knob that the host does not have.
    """

    hosts: tuple[HostChanges, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """One row a knob, with :data:`COLUMNS`; ``old`` is missing where it cannot be read."""
        rows = [
            (
                *(part.path, part.tuning, part.mtu_B, part.host),
                " ".join(filter(None, (change.interface, change.knob.label))),
                *(change.old, change.new, change.supported, change.reason, change.source),
            )
            for part in self.hosts
            for change in part.changes
        ]
        return pd.DataFrame.from_records(rows, columns=list(COLUMNS))

    def commands(self) -> str:
        """Shell commands that make the changes by hand, under a comment for each host."""
        lines = []
        for part in self.hosts:
            lines.append(f"# {part.heading}")
            made = (change for change in part.changes if change.changes)
            lines.extend(change.knob.command(change.interface or "") for change in made)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [
            f"<h4>{html.escape(part.heading)}</h4>{plan_html(part.changes)}" for part in self.hosts
        ]
        return "".join(parts) or "<p>No tuning is applied.</p>"

    def __repr__(self) -> str:
        parts = [f"# {part.heading}\n{plan_text(part.changes)}" for part in self.hosts]
        return "\n".join(parts) or "No tuning is applied."


def planned_changes(
    study: Study, tuning: str | None = None, path: str | None = None
) -> Iterator[HostChanges]:
    """Read every knob of a study's tunings on its hosts; see :meth:`netlab.Study.changes`.

    Its lab is made, and removed again, if it has lab hosts and none is up.
    """
    from netlab.experiment.endpoint import open_endpoints, study_lab

    tunings = [level.name for level in study.tunings]
    for kind, only, names in (("tuning", tuning, tunings), ("path", path, list(study.paths))):
        text = f"the study has the {kind}s {', '.join(names)}"
        check(only is None or only in names, kind, only, text, "E-FACE-001")
    with study_lab(study) as lab:
        for name in study.paths if path is None else (path,):
            with open_endpoints(study, study.first_link(name), lab=lab) as endpoints:
                for endpoint in endpoints.values():
                    _require_congestions(study, name, endpoint.host)
                chosen = [level for level in study.tunings if tuning in (None, level.name)]
                levels = [(level.name, mtu_B) for level in chosen for mtu_B in level.mtus]
                for (level, mtu_B), (host, endpoint) in product(levels, endpoints.items()):
                    found = endpoint.planned(study.tuning_profile(host, level), mtu_B)
                    yield HostChanges(name, level, mtu_B, host, found)


def _require_congestions(study: Study, path: str, host: Host) -> None:
    """Refuse a congestion control that a host cannot have; loads nothing."""
    from netlab.congestion import choose
    from netlab.experiment.cc_session import AVAILABLE, can_load, words_of

    groups = (group for group in study.groups if group.path == path)
    names = study.congestions(study.run_groups(groups))
    there = words_of(host, AVAILABLE) if names else ()
    choose(host.name, names, study.stacks, there, lambda module: can_load(host, module))
