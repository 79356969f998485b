"""How far to trust a report: its gate; how to read it, and its method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from netlab.analysis import conditions, trust
from netlab.analysis.cells import empty
from netlab.analysis.measured import Measured
from netlab.analysis.trust import Concern, counted
from netlab.files.tables import Table
from netlab.report import flags
from netlab.report.page import PAGES, Page, Section, page, template
from netlab.results.campaign_files import IMPORTED, read_conditions, read_log
from netlab.results.conditions import LeftOut, left_out
from netlab.results.flags import counted_flags
from netlab.results.store import Store

# The quality gate as readers see it: a banner, and the box that says how far to trust a report.

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


def banner(m: Measured) -> Banner:
    """The quality gate of a measured study, for a notebook."""
    return Banner(trust.gate(m), "precision reached" if m.study.precision else _precision(m))


def box(m: Measured) -> list[tuple[str, str]]:
    """Rows of the box "How far to trust this": its items, each with a sentence."""
    flagged = len(conditions.flagged(m.runs))
    share = 100 * flagged / len(m.runs) if len(m.runs) else 0.0
    by_flag = counted_flags(m.runs["flags"])
    n_empty, n_disturbed = int(empty(m.cells).sum()), int((m.cells["disturbed"] != "").sum())
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
        *([("Disturbed cells", f"{n_disturbed:,} of {len(m.cells):,}")] if n_disturbed else []),
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
        text += f"; half of the interval {seen.median_percent:.3g} % at the median"
        text += f", {seen.widest_percent:.3g} % at most"
    if seen.none:
        text += f"; {counted(seen.none, 'cell')} without an interval over rounds"
    return text


# How to read a report, and the method of its study, in sentences.

METHOD, READING = PAGES["method"]["paragraphs"], PAGES["how-to-read"]["sections"]
"""Paragraphs of the method; heading and paragraph of each part of the page for a reader."""


def reading_page() -> Page:
    """How to read a report: cells, intervals, bottlenecks, marks and flags."""
    text = Markup(
        "<p>A flag marks a run that failed, was disturbed or is implausible. Its figures are left "
        'out of its cell. The <a href="precision.html">page of precision and flags</a> lists every '
        "flagged run with the reason.</p>"
    )
    sections = [Section(head, Markup("<p>{}</p>").format(words)) for head, words in READING.items()]
    return page("how-to-read", *sections, Section("A flag", text + flags.table()))


def method_page(m: Measured) -> Page:
    """The method in sentences, and the settings of this study."""
    paragraphs = Markup("\n").join(Markup("<p>{}</p>").format(text) for text in METHOD)
    return page(
        "method",
        Section("How it is measured", paragraphs),
        Section("Settings of this study", settings(m)),
    )


def settings(m: Measured) -> Table:
    """Settings that decide how often and how long a study measures, and what it flags."""
    study = m.study
    timing, noise, precision = study.timing, study.noise, study.precision
    rows: list[tuple[str, str]] = [
        *([("recorded by", recorded)] if (recorded := recorded_by(m)) else []),
        ("order", f"shuffled in every round, seed {study.seed}"),
        ("measured rounds of a cell", f"up to {int(m.runs['round'].max())}"),
        ("window of a run", timing.text()),
        ("samples within a run", f"every {timing.interval_ms:g} ms"),
        ("level of the intervals", f"{100 * study.confidence:g} %"),
    ]
    if precision is not None:
        limit = f"half an interval within {precision.half_width_percent:g} % of the mean"
        rounds = f"{precision.min_rounds} to {precision.max_rounds} rounds"
        rows.append(("precision asked", f"{limit}, {rounds}"))
    limits = (
        f"steal above {noise.steal_percent:g} %, "
        f"foreign CPU above {noise.foreign_cpu_percent:g} %, "
        f"foreign traffic above {noise.foreign_traffic_percent:g} %, "
        f"a fall of the CPU's frequency above {noise.frequency_drop_percent:g} %"
    )
    rows.append(("flagged as interference", limits))
    rows.append(("disturbed runs", f"measured again, {counted(noise.retries, 'time')} at most"))
    return Table(pd.DataFrame(rows, columns=["setting", "value"]), "Settings of this study")


def recorded_by(m: Measured) -> str:
    """The campaign whose study and records a report states, and the rule by which these count."""
    if not m.campaign:
        imported = m.runs["run_id"].str.startswith(IMPORTED).all()
        return "" if imported else "a netlab without campaigns: the last record of each run counts"
    log, rule = read_log(m.results, m.campaign), ""
    if read_conditions(m.results, m.campaign) is None:
        rule = "Its records count by the rule of its netlab: by campaign, not by settings found. "
    earlier = int((m.runs["campaign"] != m.campaign).sum())
    adopted = f"; {counted(earlier, 'run')} of earlier ones under the same conditions"
    return (
        f"campaign {log.campaign}, netlab {log.version}{adopted if earlier else ''}. {rule}"
        "Later edits of the study's file are not part of this report"
    )
