"""The answer of a notebook in one computed sentence."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

from netlab.analysis import answers, any_factors, cell_texts
from netlab.analysis.answers import best, headline, step_effects
from netlab.analysis.cells import LATENCY
from netlab.analysis.measured import Measured
from netlab.analysis.sides import SidesCompared
from netlab.analysis.tool_agreement import Agreement
from netlab.analysis.trust import counted
from netlab.report import agreement_tables, compare
from netlab.report.tables import Sentence


@dataclass(frozen=True)
class Answer:
    """The result in sentences, as a notebook shows it."""

    sentences: tuple[str, ...]

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)

    def __repr__(self) -> str:
        return "\n".join(self.sentences)


def answer(m: Measured) -> Answer:
    """The result of a measured study in sentences."""
    return Answer(headline(m))


def highest_goodput(m: Measured) -> Sentence:
    """The highest goodput in each direction, and where it was reached."""
    return Sentence(best(m))


def strongest(m: Measured) -> Sentence:
    """The step of a factor with the largest effect on goodput."""
    steps = step_effects(m)
    if steps.empty:
        return Sentence("No two cells with valid runs differ in one factor alone.")
    logs = steps["ratio"].map(math.log).abs()
    row = steps.loc[logs.idxmax()]
    labels = cell_texts.tuning_labels(m.cells, m.study)
    step = any_factors.step_text(row["factor"], row[["from_level", "to_level"]], labels)
    effect = any_factors.ratio_text(*row[["ratio", "low", "high"]])
    return Sentence(f"The strongest step is {step}: goodput {effect}, all else equal.")


def added_latency(m: Measured) -> Sentence:
    """The least and the most that the load of a cell adds to a round trip."""
    if LATENCY not in m.cells or m.cells[LATENCY].isna().all():
        return Sentence("No cell has a valid run with a latency probe.")
    added_ms = m.cells[LATENCY].dropna() / 1e3
    reach = " to ".join(map(cell_texts.number, (added_ms.min(), added_ms.max())))
    cells = counted(len(added_ms), "cell")
    return Sentence(f"The load of {cells} adds {reach} ms to the round trips of others.")


def trade_offs(m: Measured) -> Answer:
    """The steps that gain goodput and cost latency."""
    none = "No step of a factor gains goodput and costs latency, both beyond their intervals."
    return Answer(answers.trade_offs(m) or (none,))


def generators(found: Agreement) -> Sentence:
    """The number of comparisons of another generator with netlab's by verdict."""
    if found.frame.empty:
        return Sentence(agreement_tables.NOTHING)
    counts = compare.verdict_counts(found.frame["verdict"], found.bound_percent)
    return Sentence(f"Of {len(found.frame)} comparisons with another generator: {counts}.")


def sides(found: SidesCompared) -> Sentence:
    """The effect over all cells of a comparison."""
    over = found.compared
    return Sentence(
        f"B against A over {len(over.frame)} cells: {compare.effect(over.overall)} in the "
        "geometric mean."
    )
