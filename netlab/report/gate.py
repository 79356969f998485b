"""The quality gate as readers see it: a banner, and the box that says how far to trust a report."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

import pandas as pd

from netlab.analysis import conditions, trust
from netlab.analysis.cells import empty
from netlab.analysis.measured import Measured
from netlab.analysis.trust import Concern, counted

PASSED = "Quality gate passed: no empty cell, few flags, precision reached."
CALIBRATION = "Calibration"
"""Item of the box that states the stored calibrations."""


@dataclass(frozen=True)
class Banner:
    """Concerns of a measured study, as a notebook shows them."""

    concerns: tuple[Concern, ...]

    def _repr_html_(self) -> str:
        if not self.concerns:
            return f'<p class="netlab-gate passed">{html.escape(PASSED)}</p>'
        rows = "".join(
            f"<li><strong>{html.escape(c.text)}</strong>: {html.escape(c.reason)}. "
            f"<code>{html.escape(c.command)}</code></li>"
            for c in self.concerns
        )
        style = "background:#fff3d6;color:#5c3d00;padding:0.6rem 0.9rem;border-radius:4px"
        return (
            f'<div class="netlab-gate" role="note" style="{style}">'
            f"<p><strong>Below the quality gate.</strong></p><ul>{rows}</ul></div>"
        )

    def __repr__(self) -> str:
        if not self.concerns:
            return PASSED
        return "\n".join(["Below the quality gate.", *map(in_words, self.concerns)])


def in_words(concern: Concern) -> str:
    """A concern as one line of text."""
    return f"{concern.text}: {concern.reason}; {concern.command}"


def banner(m: Measured) -> Banner:
    """The quality gate of a measured study, for a notebook."""
    return Banner(trust.gate(m))


def box(m: Measured) -> list[tuple[str, str]]:
    """Rows of the box "How far to trust this": its items, each with a sentence."""
    flagged = len(conditions.flagged(m.runs))
    share = 100 * flagged / len(m.runs) if len(m.runs) else 0.0
    flags = trust.flags_in_words(m.runs)
    n_empty, n_disturbed = int(empty(m.cells).sum()), int((m.cells["disturbed"] != "").sum())
    effects = m.stability
    found = [str(text) for text in effects.loc[effects["found"], "text"]]
    wrong = trust.contradictions(m)
    return [
        *([("Bus", "; ".join(wrong))] if wrong else []),
        ("Precision reached", _precision(m)),
        (
            "Flagged",
            f"{flagged:,} of {counted(len(m.runs), 'run')} ({share:.1f} %), left out of the cells"
            + (f": {flags}" if flags else ""),
        ),
        *([("Disturbed cells", f"{n_disturbed:,} of {len(m.cells):,}")] if n_disturbed else []),
        ("Empty cells", f"{n_empty:,} of {len(m.cells):,}"),
        ("Order effects", "; ".join(found) or _no_effects(effects)),
        (CALIBRATION, trust.calibration()),
    ]


def _no_effects(effects: pd.DataFrame) -> str:
    if effects["p"].isna().all():
        return "not tested: too few visits"
    return "no drift, step or carry-over distinguishable from zero"


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
