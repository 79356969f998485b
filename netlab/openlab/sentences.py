"""Answers beside published figures, each in one computed sentence."""

from __future__ import annotations

import pandas as pd

from netlab.analysis.effects import CANNOT_TELL
from netlab.analysis.findings import DOES_NOT_HOLD, HOLDS, MIXED
from netlab.analysis.measured import Measured
from netlab.openlab import own_table
from netlab.openlab import published_beside as beside
from netlab.openlab import then_and_now as published_effects
from netlab.report.tables import Sentence
from netlab.units import listed

CLAIMS = {
    HOLDS: "hold here",
    DOES_NOT_HOLD: "do not",
    MIXED: "are mixed",
    CANNOT_TELL: "cannot be told",
}


SIZES = {
    HOLDS: "hold here",
    published_effects.LARGER: "are larger",
    published_effects.SMALLER: "are smaller in the same direction",
    DOES_NOT_HOLD: "do not",
    CANNOT_TELL: "cannot be told",
}
"""Of the steps of a published table, whose size is judged."""


def then_and_now(m: Measured) -> Sentence:
    """The number of effects of 2003 that hold here, that do not, and that are open to doubt."""
    compared = published_effects.compare(m)
    if compared.empty:
        return Sentence("The study has no cells of 2003, so no effect can be tested.")
    return _claims(published_effects.summary(compared)["verdict"], "effects of 2003")


def published_beside(m: Measured) -> Sentence:
    """The number of steps of a published table that hold here."""
    if m.study.published is None:
        return own_table.NOTHING_BESIDE
    steps = beside.steps_beside(m)
    lacking = own_table.missing(m)
    if steps.empty:
        return _with("No two comparable cells differ in one factor alone.", lacking)
    levels = beside.levels_beside(m)
    judged = str(_claims(steps["verdict"], "published steps", SIZES))
    said = f"{levels}; o{judged[1:]}" if levels else judged
    return _with(said, lacking)


def _with(said: str, more: str) -> Sentence:
    """One sentence of two: an answer is one."""
    return Sentence(f"{said.removesuffix('.')}; {more[0].lower()}{more[1:]}" if more else said)


def _claims(verdicts: pd.Series, of: str, words: dict[str, str] | None = None) -> Sentence:
    counts = verdicts.value_counts()
    said = CLAIMS if words is None else words
    parts = [f"{counts.get(verdict, 0)} {each}" for verdict, each in said.items()]
    return Sentence(f"Of {len(verdicts)} {of}, {listed(parts)}.")
