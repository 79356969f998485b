"""Help for readers of a report, and the method of its study, in sentences."""

from __future__ import annotations

import pandas as pd
from markupsafe import Markup

from netlab.analysis.measured import Measured
from netlab.analysis.trust import counted
from netlab.files.tables import Table
from netlab.report import flags
from netlab.report.page import PAGES, Page, Section, page
from netlab.results.campaign_files import IMPORTED, read_conditions, read_log

METHOD, READING = PAGES["method"]["paragraphs"], PAGES["how-to-read"]["sections"]
"""Paragraphs of the method; heading and paragraph of each part of the page for a reader."""


def reading_page() -> Page:
    """Help for readers of a report: cells, intervals, bottlenecks, marks and flags."""
    text = Markup(
        "<p>A flag marks a run that failed, was disturbed or is doubted. Its figures are left "
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
