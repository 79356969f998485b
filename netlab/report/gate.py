"""The quality gate as readers see it: a banner, and the box that says how far to trust a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from netlab.analysis import conditions, trust
from netlab.analysis.cells import empty
from netlab.analysis.measured import Measured
from netlab.analysis.trust import Concern, counted
from netlab.report.plain_notebook import public_names, renamed
from netlab.report.templating import template
from netlab.results.conditions import LeftOut, left_out
from netlab.results.flags import counted_flags
from netlab.results.store import Store
from netlab.units import plain

MOST_LEFT_OUT = 5
"""Campaigns whose left out records are named one by one."""

PASSED = "Quality gate passed: no empty cell, few flags"
CALIBRATION = "Calibration"
"""Item of the box that states the stored calibrations."""


@dataclass(frozen=True)
class Banner:
    """Concerns of a measured study, as a notebook shows them."""

    concerns: tuple[Concern, ...]
    precision: str = "precision reached"
    """The third reason for which the gate is passed."""

    def _repr_html_(self) -> str:
        return template("banner.html.j2").render(concerns=self.concerns, passed=self._passed())

    def __repr__(self) -> str:
        if not self.concerns:
            return self._passed()
        rows = (
            f"{c.text}: {c.reason}{'.' if c.call.endswith('.') else ';'} {c.call}"
            for c in self.concerns
        )
        return "\n".join(["Below the quality gate.", *rows])

    def _passed(self) -> str:
        return f"{PASSED}, {self.precision}."


def in_words(concern: Concern) -> str:
    """A concern as one line of text."""
    return f"{concern.text}: {concern.reason}; {concern.command}"


def public(m: Measured) -> tuple[Concern, ...]:
    """Concerns of a measured study for the readers of its report, who have other directories."""
    names = public_names(m.results)
    return tuple(replace(one, **renamed(vars(one), names)) for one in trust.gate(m))


def banner(m: Measured) -> Banner:
    """The quality gate of a measured study, for a notebook."""
    return Banner(trust.gate(m), "precision reached" if m.study.precision else _precision(m))


def box(m: Measured) -> list[tuple[str, str]]:
    """Rows of the box "How far to trust this": its items, each with a sentence."""
    flagged = len(conditions.flagged(m.runs))
    share = 100 * flagged / len(m.runs) if len(m.runs) else 0.0
    by_flag = counted_flags(m.runs["flags"])
    n_empty, n_flagged = int(empty(m.cells).sum()), int((m.cells["disturbed"] != "").sum())
    effects = m.stability
    found = [str(text) for text in effects.loc[effects["found"], "text"]]
    none = "no drift, step, carry-over or correlation of rounds distinguishable from zero"
    if effects["p"].isna().all():
        none = "not tested: too few visits"
    wrong = trust.contradictions(m)
    others = left_out(Store(m.results), m.campaign) if m.results and m.campaign else ()
    return [
        *([("Bus", "; ".join(wrong))] if wrong else []),
        *([("Not counted", _not_counted(others))] if others else []),
        ("Precision reached", _precision(m)),
        (
            "Flagged",
            f"{flagged:,} of {counted(len(m.runs), 'run')} ({share:.1f} %), left out of the cells"
            + (f": {by_flag}" if by_flag else ""),
        ),
        *([("Flagged cells", f"{n_flagged:,} of {len(m.cells):,}")] if n_flagged else []),
        ("Empty cells", f"{n_empty:,} of {len(m.cells):,}"),
        ("Order effects", "; ".join(found) or none),
        (CALIBRATION, trust.calibration()),
    ]


def _not_counted(others: Sequence[LeftOut]) -> str:
    """Records of other conditions: those of the latest campaigns one by one."""
    before, latest = others[:-MOST_LEFT_OUT], map(str, others[-MOST_LEFT_OUT:])
    text = "; ".join(latest)
    if before:
        runs = counted(sum(one.runs for one in before), "run")
        text += f"; {runs} of {counted(len(before), 'campaign')} before (`netlab results show`)"
    return text


def _precision(m: Measured) -> str:
    seen = trust.precision(m)
    measured = seen.within + seen.wide + seen.none
    if math.isnan(seen.asked_percent):
        text = "no precision was asked"
    else:
        text = f"{seen.within:,} of {counted(measured, 'cell')} within {seen.asked_percent:g} %"
    if not math.isnan(seen.median_percent):
        text += f"; half of the interval {plain(seen.median_percent, '.3g')} % at the median"
        text += f", {plain(seen.widest_percent, '.3g')} % at most"
    if seen.none:
        text += f"; {counted(seen.none, 'cell')} without an interval over rounds"
    return text
