"""Tables and sentences of a comparison, and its outputs as text, CSV and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

import pandas as pd

from netlab.analysis.any_factors import text_of
from netlab.analysis.cell_texts import number
from netlab.analysis.cells import valid
from netlab.analysis.compare import BASE, FASTER, FIGURES, MORE, SAME, SLOWER, VERDICTS, Compared
from netlab.analysis.effects import Ratio
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.analysis.other_differences import ABSENT, SHOWN
from netlab.analysis.sides import SidesCompared
from netlab.analysis.trust import IS, counted
from netlab.files.frame_text import frame_text
from netlab.files.tables import Sentence, Table, table_or
from netlab.files.text_columns import left
from netlab.report.tables import Tables

HEADS = {
    "mtu_B": "MTU, B",
    "record_length_B": "record, B",
    "buffer_B": "buffer, B",
    "receive_buffer_B": "receive buffer, B",
}
NO_DIFFERENCE = "Of all recorded conditions only the goodput differs between the two sides."


def percent(ratio: float) -> str:
    """A ratio as a signed difference in per cent."""
    return f"{100 * (ratio - 1):+.1f}"


def interval(low: float, high: float) -> str:
    """Ends of the interval of a ratio in per cent."""
    if math.isnan(low) or math.isnan(high):
        return "no interval"
    if high > 100:  # more than a hundredfold: the interval has no information
        return f"{percent(low)} to over +9900"
    return f"{percent(low)} to {percent(high)}"


def effect(found: Ratio) -> str:
    """``+1.2 % (+0.3 to +2.1)``."""
    return f"{percent(found.ratio)} % ({interval(found.low, found.high)})"


def differences(c: SidesCompared) -> Table | Sentence:
    """Recorded conditions that differ; what is compared comes first."""
    # factors with another level on each side, unless the differences have them by a name
    named = {"congestion", "generator", "engine", *MORE} - {c.by}
    apart = c.compared.apart
    compared = apart[~apart["item"].isin(named)]
    frame = pd.concat([compared, c.differences]).drop_duplicates(ignore_index=True)
    if frame.empty:
        return Sentence(NO_DIFFERENCE)
    shown, note = folded(frame)
    heads = {"item": "", "a": "A", "b": "B"}
    return table_or(note, shown, "What differs besides goodput", heads, note=note, data=frame)


def folded(differences: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Conditions that both sides recorded; more than a few of one side are only named in a note."""
    notes = []
    for side, other in (("a", "B"), ("b", "A")):
        alone = differences[side] == ABSENT
        if alone.sum() > SHOWN:
            # Those of the hosts have the same names: `linux64-a, kernel`.
            names = dict.fromkeys(i.partition(", ")[2] or i for i in differences["item"][alone])
            notes.append(f"{alone.sum()} conditions recorded in {other} only: {', '.join(names)}.")
            differences = differences[~alone]
    return differences, " ".join(notes)


def sides(c: SidesCompared) -> Table:
    """Both sides: study, campaign, time and number of runs."""
    span = "{:%Y-%m-%d %H:%M} to {:%H:%M}"
    rows = [
        {
            "side": name,
            "results": side.label,
            "study": side.study.name,
            "campaign": side.campaign or "none",
            "measured, UTC": span.format(*side.runs["started_at"].agg(["min", "max"])),
            "runs": len(side.runs),
            "valid": len(valid(side.runs)),
        }
        for name, side in (("A", c.a), ("B", c.b))
    ]
    return Table(pd.DataFrame(rows), "Compared: B against A")


def statement(c: SidesCompared) -> Sentence:
    """The overall effect, then the number of cells of each verdict."""
    found = c.compared
    counts = verdict_counts(found.frame["verdict"], found.same_within_percent)
    alone = "" if found.only.empty else f" {counted(len(found.only), 'cell', IS)} on one side only."
    between = "Between campaigns, " if found.between else ""
    return Sentence(
        f"{between}B against A over {counted(len(found.frame), 'cell')}: "
        f"{effect(found.overall)} in the geometric mean. Cell by cell: {counts}.{alone}"
    )


def verdict_counts(verdicts: pd.Series, bound_percent: float) -> str:
    """``2 slower, 0 faster, 3 the same within 5 %, 1 cannot tell``."""
    return ", ".join(
        f"{(verdicts == word).sum()} {word}"
        + (f" within {bound_percent:g} %" if word == SAME else "")
        for word in VERDICTS
    )


def method(c: SidesCompared) -> Sentence:
    found = c.compared
    paired = int(found.frame["paired"].sum())
    parts = [
        f"Intervals hold for {counted(found.family, 'cell')} at once at "
        f"{100 * found.level:.4g} % (Bonferroni: {100 * found.cell_level:.6g} % each). Faster and "
        f"slower: Holm's test of all ratios at {100 * (1 - found.level):.4g} %."
    ]
    spread = found.frame["low"].le(1) & found.frame["high"].ge(1)
    tested = int((spread & found.frame["verdict"].isin((FASTER, SLOWER))).sum())
    if tested:
        text = "by that test, where the wider interval contains 0."
        parts.append(f"{counted(tested, 'cell')}: {text}")
    if paired:
        text = (
            "mean ratio within a round; where a round lacks a side, not the quotient of the means."
        )
        parts.append(f"{counted(paired, 'cell')}: {text}")
    if alone := len(found.frame) - paired:
        text = f"under {LEAST_ROUNDS} rounds in common, Welch's interval on logarithms."
        parts.append(f"{counted(alone, 'cell')}: {text}")
    if (~found.frame["ranked"]).any():
        parts.append(f"{counted((~found.frame['ranked']).sum(), 'cell', IS)} not ranked.")
    if found.between:
        parts.append(shift_sentence(found))
    if found.shared:
        parts.append(f"{found.shared} records count on both sides and are left out.")
    parts.append("The interval of the mean over all cells stands for itself.")
    return Sentence(" ".join(parts))


def shift_sentence(found: Compared) -> str:
    """Shift between the campaigns that the comparison can rule out."""
    if not found.shift.campaigns:
        return (
            "Between campaigns: the intervals cover the spread between rounds. No shift from one "
            "to the other can be ruled out; two or more repeats of A estimate it (--repeat)."
        )
    return (
        "Between campaigns: the intervals cover the spread between rounds. By "
        f"{found.shift.campaigns} campaigns under the conditions of A, a shift beyond "
        f"±{found.shift.percent:.1f} % is ruled out at {100 * found.level:.4g} %; a smaller "
        "difference is not called faster or slower."
    )


def in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy with the further factors of each cell in words."""
    return frame.assign(**{k: frame[k].map(text_of) for k in frame if k == "factors"})


def cells(c: SidesCompared) -> Table:
    """Every cell, by verdict and size of the effect."""
    frame, keys = c.compared.frame, c.compared.keys
    shown = in_words(frame[naming_columns(frame, keys)])
    between = " between campaigns" if c.compared.between else ""
    return every_cell(shown, frame, "Cell by cell", method(c).text, between)


OF_A_GROUP = ("path", "sender", "direction")


def naming_columns(frame: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """Columns that tell the cells apart, without those that the name of the group gives."""
    several = [key for key in keys if frame[key].nunique(dropna=False) > 1]
    return [key for key in several if key not in columns_of_a_group(frame, several)] or list(
        keys[:1]
    )


def columns_of_a_group(frame: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """Columns with one level in each group."""
    if "group" not in keys or frame["group"].nunique(dropna=False) < 2:
        return []
    named = [key for key in OF_A_GROUP if key in keys]
    levels = frame.groupby("group", dropna=False)[named].nunique(dropna=False)
    return [key for key in named if levels[key].max() == 1]


def every_cell(
    shown: pd.DataFrame, compared: pd.DataFrame, caption: str, note: str, between: str = ""
) -> Table:
    """The verdict of each cell, which a narrow page shows as well, and the figures after it."""
    rows = compared.to_dict("records")
    shown["verdict"] = [
        row["verdict"] + between * (row["verdict"] in (FASTER, SLOWER))
        if row["ranked"]
        else f"{row['verdict']}: {row['reason']}"
        for row in rows
    ]
    shown["B against A, %"] = [percent(row["ratio"]) for row in rows]
    shown["interval"] = [interval(row["low"], row["high"]) for row in rows]
    shown["A, MB/s"] = [number(row["a_MBps"]) for row in rows]
    shown["B, MB/s"] = [number(row["b_MBps"]) for row in rows]
    shown["rounds"] = [f"{row['n_a']} and {row['n_b']}" for row in rows]
    return Table(shown, caption, HEADS, note=note, bold="verdict", data=compared)


def only(c: SidesCompared) -> Table | Sentence:
    heads = {**HEADS, "side": "only", "reason": "on the other side"}
    alone = c.compared.only
    shown = in_words(alone.drop(columns=columns_of_a_group(alone, c.compared.keys)))
    return table_or(
        "Both sides have every cell.", shown, "Cells of one side only", heads, data=alone
    )


def tables(c: SidesCompared) -> Tables:
    """The whole comparison: what differs, the effect, every cell, cells of one side."""
    return Tables((sides(c), differences(c), statement(c), cells(c), only(c)))


def as_text(shown: Tables) -> str:
    texts = []
    for one in shown.tables:
        if isinstance(one, Table):
            frame = one.frame.rename(columns=dict(one.heads))
            text = frame_text(frame, missing="-", head=left)
            texts.append("\n".join(filter(None, (one.caption, text, one.note))))
        else:
            texts.append(one.text)
    return "\n\n".join(texts)


def as_frame(c: SidesCompared) -> pd.DataFrame:
    """Compared cells, then those of one side with ``only in A`` or ``only in B`` as verdict."""
    found = c.compared
    columns = [*found.keys, *FIGURES]
    if found.only.empty:
        return found.frame[columns]
    alone = found.only.assign(verdict="only in " + found.only["side"], ranked=False)
    return pd.concat([found.frame, alone.reindex(columns=columns)], ignore_index=True)[columns]


def as_json(c: SidesCompared) -> dict:
    found = c.compared
    factors = [name for name in (*BASE, *MORE) if name in found.keys]
    return {
        "netlab_comparison": 1,
        "by": c.by,
        "sides": {
            name: {
                "results": str(side.directory),
                "label": side.label,
                "study": side.study.name,
                "campaign": side.campaign,
                "runs": len(side.runs),
                "valid": len(valid(side.runs)),
            }
            for name, side in (("a", c.a), ("b", c.b))
        },
        "differences": pd.concat([found.apart, c.differences]).to_dict("records"),
        "settings": {
            "method": "Bonferroni intervals, Holm tests of differences",
            "confidence": found.level,
            "confidence_of_a_cell": found.cell_level,
            "same_within_percent": found.same_within_percent,
            "shared_records": found.shared,
            "between_campaigns": found.between,
            "shift_percent": found.shift.percent,
            "shift_campaigns": found.shift.campaigns,
        },
        "overall": asdict(found.overall),
        "counts": {word: found.count(word) for word in VERDICTS},
        "factors": factors,
        "cells": found.frame.to_dict("records"),
        "only": found.only.to_dict("records"),
    }
