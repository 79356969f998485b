"""Tables and sentences that compare a measured study with the published one."""

from __future__ import annotations

import math

import pandas as pd

from netlab.analysis import cell_texts
from netlab.analysis.effects import CANNOT_TELL
from netlab.analysis.findings import DOES_NOT_HOLD, HELD, HOLDS, MIXED
from netlab.analysis.measured import Measured
from netlab.analysis.trust import counted
from netlab.files.tables import Table, table_or
from netlab.openlab import then_and_now as analysis
from netlab.report import tables as measured_tables
from netlab.report.tables import Sentence, Tables

NOTHING = "Nothing to compare."
STATED = {
    HOLDS: "Hold here",
    DOES_NOT_HOLD: "Do not hold",
    MIXED: "Mixed",
    CANNOT_TELL: "Cannot tell",
}


def opening(m: Measured) -> Table | Sentence:
    """Groups of both studies with ceilings and best cells, or the reason for none."""
    because = analysis.nothing_because(m)
    if because:
        return Sentence(f"There is nothing to compare with 2003: {because}.")
    cells = analysis.comparable(m)
    frame = cells.groupby(["table", "group"], as_index=False).agg(
        cells=("streams", "size"),
        then_ceiling=("then_ceiling_MBps", "max"),
        now_ceiling=("now_ceiling_MBps", "median"),
        then_best=("then_percent", "max"),
        now_best=("now_percent", "max"),
    )
    frame["table"] = [f"Table {number}" for number in frame["table"]]
    heads = {
        "then_ceiling": "ceiling 2003, MB/s",
        "now_ceiling": "ceiling measured, MB/s",
        "then_best": "best 2003, %",
        "now_best": "best measured, %",
    }
    formats = {"then_ceiling": ".0f", "now_ceiling": ".0f", "then_best": ".1f", "now_best": ".1f"}
    note = (
        f"{m.study.title} ({m.study.name}): {len(cells)} of the {len(analysis.published_cells())} "
        "cells of tables 2 to 6 have a valid run here. The ceiling is the slower of the two hosts' "
        "buses, and twice that for both directions if each has the full bus; on a measured path "
        "without a known bus it is the recorded ceiling. Percentages are of the ceiling."
    )
    if cells["now_percent"].isna().any():
        note += f" {cell_texts.MISSING}: no known ceiling; the charts omit the group."
    return Table(frame, "Groups that both studies have", heads, formats, note)


def statement(m: Measured) -> Tables:
    """One paragraph a factor: findings that hold here, that do not, and the others."""
    compared = analysis.compare(m)
    if compared.empty:
        return Tables((Sentence(_nothing(m)),))
    whole = analysis.summary(compared)
    return Tables(tuple(Sentence(_said(whole, factor)) for factor in analysis.STEP_FACTORS))


def findings(m: Measured) -> Table | Sentence:
    """The statements of the report of 2003 with their verdicts on the measured runs."""
    return Sentence(_nothing(m)) if analysis.nothing_because(m) else measured_tables.findings(m)


def _nothing(m: Measured) -> str:
    because = analysis.nothing_because(m)
    why = because or "no two comparable cells of this study differ in one factor alone"
    return f"{NOTHING} No finding of 2003 can be tested: {why}."


def _said(whole: pd.DataFrame, factor: str) -> str:
    part = whole[whole["factor"] == factor]
    name = factor.capitalize()
    if part.empty:
        return f"{name}: nothing to compare."
    text = [f"{name}, {counted(len(part), 'finding')} of 2003."]
    for verdict, words in STATED.items():
        rows = part[part["verdict"] == verdict]
        listed = "; ".join(
            f"{step} ({'; '.join(same['where'])})"
            for step, same in rows.groupby("step", sort=False)
        )
        text.append(f"{words}: {listed}." if listed else f"{words}: none.")
    return " ".join(text)


def summary(m: Measured) -> Table | Sentence:
    """Every finding over all groups."""
    frame = analysis.summary(analysis.compare(m))
    shown = [
        {
            "factor": row["factor"],
            "step": _unbroken(row["step"]),
            "where": _unbroken(row["where"]),
            "2003": f"×{row['then_ratio']:.2f}",
            "said": _directions(row),
            "measured": f"×{row['now_ratio']:.2f}",
            **{word: row[word] for word in HELD},
            "verdict": row["verdict"],
        }
        for row in frame.to_dict("records")
    ]
    heads = {"said": "in 2003 it", "verdict": "finding"}
    note = (
        "Ratios are geometric means over the groups. The counts are groups (for a direction, "
        "pairs of groups). A finding holds, or does not, with at least two thirds of them. Where "
        "two thirds answer and disagree it is mixed; else the groups cannot tell."
    )
    caption = "Findings of 2003, over all groups"
    return table_or(NOTHING, shown, caption, heads, note=note, bold="verdict", data=frame)


def _unbroken(text: str) -> str:
    """The text with no-break spaces before units."""
    return text.replace(" B", "\u00a0B")


def _directions(row: dict) -> str:
    words = (analysis.RISES, analysis.FALLS, analysis.STAYS)
    found = [word for word in words if row[word]]
    return found[0] if len(found) == 1 else ", ".join(f"{word} in {row[word]}" for word in found)


def of_factor(m: Measured, factor: str) -> Table | Sentence:
    """Findings of one factor by group, with the numbers of both studies."""
    compared = analysis.compare(m)
    frame = compared[compared["factor"] == factor]
    shown = [
        {
            "step": _unbroken(row["step"]),
            "where": _unbroken(row["where"]),
            "table": row["tables"],
            "2003, %": _step(row, "then"),
            "2003, ratio": _ratio(row, "then"),
            "said": row["said"],
            "measured, %": _step(row, "now"),
            "measured, ratio": _ratio(row, "now"),
            "verdict": row["verdict"],
            "alike": f"{row['alike']} of {row['cases']}",
        }
        for row in frame.to_dict("records")
    ]
    level = f"{100 * m.study.confidence:g} %"
    note = (
        "Per cent of the ceiling before and after the step, and the ratio of goodput: geometric "
        "means over the cases. The measured ratio is adjusted for the rounds, so that drift "
        "cancels: it may differ from the quotient of the two per cents. "
        f"In brackets: ±{100 * analysis.FLUCTUATION:g} % on each published "
        f"cell; the {level} interval of the measured ratio. Alike: cases that "
        "rise, fall or stay in both studies."
    )
    if factor == "direction":
        note += " If each direction has the full bus, the ceiling of both is twice that of one."
    left_out = int(frame["left_out"].sum())
    if left_out:
        note += f" Excluded without a second valid run: {counted(left_out, 'case')}."
    heads = {"said": "in 2003 it", "verdict": "finding"}
    name = factor.capitalize()
    presented = {"heads": heads, "note": note, "bold": "verdict", "data": frame}
    return table_or(f"{name}: nothing to compare.", shown, f"{name}, then and now", **presented)


def _step(row: dict, side: str) -> str:
    ends = row[f"{side}_from_percent"], row[f"{side}_to_percent"]
    if any(map(math.isnan, ends)):
        return cell_texts.MISSING
    return f"{ends[0]:.1f} → {ends[1]:.1f}"


def _ratio(row: dict, side: str) -> str:
    ratio, low, high = (row[f"{side}_{name}"] for name in ("ratio", "low", "high"))
    interval = "no interval" if math.isnan(low) else f"{low:.2f}–{high:.2f}"
    return f"×{ratio:.2f} ({interval})"
