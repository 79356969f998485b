"""Tables and sentences of a comparison, and its outputs as text, CSV and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace

import pandas as pd

from netlab.analysis import tool_agreement
from netlab.analysis.any_factors import text_of
from netlab.analysis.cell_texts import MISSING, number
from netlab.analysis.cells import valid
from netlab.analysis.compare import (
    BASE,
    FASTER,
    FIGURES,
    MORE,
    SAME,
    SLOWER,
    VERDICTS,
    Compared,
    side_name,
)
from netlab.analysis.effects import COMMON_ROUNDS, Ratio
from netlab.analysis.other_differences import ABSENT, SHOWN
from netlab.analysis.sides import SidesCompared
from netlab.analysis.tool_agreement import Agreement
from netlab.analysis.trust import IS, counted
from netlab.files.bounded_json import parse_json
from netlab.files.tables import Sentence, Table, table_or
from netlab.report.tables import Tables

HEADS = {
    "mtu_B": "MTU, B",
    "record_length_B": "record, B",
    "buffer_B": "buffer, B",
    "receive_buffer_B": "receive buffer, B",
}
NO_DIFFERENCE_OF_ALL = "Of all recorded conditions only the goodput differs from the reference's."
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
        text = f"under {COMMON_ROUNDS} rounds in common, Welch's interval on logarithms."
        parts.append(f"{counted(alone, 'cell')}: {text}")
    if (~found.frame["ranked"]).any():
        parts.append(f"{counted((~found.frame['ranked']).sum(), 'cell', IS)} not ranked.")
    if found.between:
        parts.append(_shift(found))
    if found.shared:
        parts.append(f"{found.shared} records count on both sides and are left out.")
    parts.append("The interval of the mean over all cells stands for itself.")
    return Sentence(" ".join(parts))


def _shift(found: Compared) -> str:
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


def _in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy with the further factors of each cell in words."""
    return frame.assign(**{k: frame[k].map(text_of) for k in frame if k == "factors"})


def cells(c: SidesCompared) -> Table:
    """Every cell, by verdict and size of the effect."""
    frame, keys = c.compared.frame, c.compared.keys
    shown = _in_words(frame[_naming(frame, keys)])
    between = " between campaigns" if c.compared.between else ""
    return _every_cell(shown, frame, "Cell by cell", method(c).text, between)


OF_A_GROUP = ("path", "sender", "direction")


def _naming(frame: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """Columns that tell the cells apart, without those that the name of the group gives."""
    several = [key for key in keys if frame[key].nunique(dropna=False) > 1]
    return [key for key in several if key not in _of_group(frame, several)] or list(keys[:1])


def _of_group(frame: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """Columns with one level in each group."""
    if "group" not in keys or frame["group"].nunique(dropna=False) < 2:
        return []
    named = [key for key in OF_A_GROUP if key in keys]
    levels = frame.groupby("group", dropna=False)[named].nunique(dropna=False)
    return [key for key in named if levels[key].max() == 1]


def _every_cell(
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
    shown = _in_words(alone.drop(columns=_of_group(alone, c.compared.keys)))
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
            text = frame.to_string(index=False, na_rep="-", justify="left")
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


# Several results against one reference, as one family.


def letters(every: Sequence[SidesCompared]) -> list[str]:
    """Names of the sides after the reference A, which may be more than an alphabet has."""
    return [side_name(place) for place in range(1, len(every) + 1)]


def all_sides(every: Sequence[SidesCompared]) -> Table:
    """The reference and each of the others, with its effect over all cells and its verdicts."""
    reference = sides(every[0]).frame.iloc[:1]
    others = [sides(one).frame.iloc[1:] for one in every]
    frame = pd.concat([reference, *others], ignore_index=True)
    frame["side"] = ["A", *letters(every)]
    frame["against A, %"] = ["", *(effect(one.compared.overall) for one in every)]
    for word in VERDICTS:
        frame[word] = [MISSING, *(str(one.compared.count(word)) for one in every)]
    # the answer before the circumstances, which a narrow page may cut
    answer = ["side", "results", "against A, %", *VERDICTS]
    frame = frame[[*answer, *frame.columns.difference(answer, sort=False)]]
    return Table(frame, "Compared: each against A", note=method_of_all(every).text)


def method_of_all(every: Sequence[SidesCompared]) -> Sentence:
    found = every[0].compared
    parts = [
        f"One family of {counted(found.family, 'cell')} of {len(every)} comparisons: their "
        f"intervals hold at once at {100 * found.level:.4g} % (Bonferroni), and Holm's test of all "
        f"ratios decides faster and slower at {100 * (1 - found.level):.4g} %.",
        "Against A, %: geometric mean over the common cells; its interval stands for itself.",
    ]
    if found.between:
        parts.append(_shift(found))
    return Sentence(" ".join(parts))


def statement_of_all(every: Sequence[SidesCompared]) -> Sentence:
    words = (
        f"{name} ({one.b.label}): {effect(one.compared.overall)}"
        for name, one in zip(letters(every), every, strict=True)
    )
    return Sentence(f"Against A ({every[0].a.label}), geometric means: {'; '.join(words)}.")


def frame_of_all(every: Sequence[SidesCompared]) -> pd.DataFrame:
    """Cells of all comparisons as :func:`as_frame` has them, after the name of their side."""
    parts = []
    for name, one in zip(letters(every), every, strict=True):
        part = as_frame(one)
        part["verdict"] = part["verdict"].replace("only in B", f"only in {name}")
        part.insert(0, "results", one.b.label)
        part.insert(0, "side", name)
        parts.append(part)
    keys = dict.fromkeys(key for one in every for key in one.compared.keys)
    frame = pd.concat(parts, ignore_index=True)
    return frame[["side", "results", *keys, *FIGURES]]


def cells_of_all(every: Sequence[SidesCompared]) -> Table:
    """Every cell of every comparison, the sides of a cell below each other."""
    keys = list(dict.fromkeys(key for one in every for key in one.compared.keys))
    frames = (
        one.compared.frame.assign(side=name)
        for name, one in zip(letters(every), every, strict=True)
    )
    frame = pd.concat(frames, ignore_index=True)
    several = _naming(frame, keys)
    frame = frame.sort_values([*several, "side"], ignore_index=True, key=_sortable)
    shown = _in_words(frame[[*several, "side"]])
    between = " between campaigns" if every[0].compared.between else ""
    table = _every_cell(shown, frame, "Cell by cell", method_of_all(every).text, between)
    renamed = {"B against A, %": "against A, %", "B, MB/s": "MB/s"}
    return replace(table, frame=table.frame.rename(columns=renamed))


def _sortable(column: pd.Series) -> pd.Series:
    return column if pd.api.types.is_numeric_dtype(column) else column.astype(str)


def differences_of_all(every: Sequence[SidesCompared]) -> Table | Sentence:
    """Recorded conditions in which a side differs from the reference, a column a side."""
    columns: dict[str, dict[str, str]] = {name: {} for name in ("A", *letters(every))}
    for name, one in zip(letters(every), every, strict=True):
        for row in pd.concat([one.compared.apart, one.differences]).to_dict("records"):
            columns["A"][row["item"]] = row["a"]
            columns[name][row["item"]] = row["b"]
    frame = pd.DataFrame(columns, dtype=object).fillna("as A").rename_axis("item").reset_index()
    return table_or(NO_DIFFERENCE_OF_ALL, frame, "What differs besides goodput", {"item": ""})


def only_of_all(every: Sequence[SidesCompared]) -> Table | Sentence:
    frame = pd.concat(
        [
            one.compared.only.replace({"side": {"B": name}}).assign(compared=f"{name} with A")
            for name, one in zip(letters(every), every, strict=True)
        ],
        ignore_index=True,
    )
    heads = {**HEADS, "side": "only", "reason": "on the other side"}
    shown = _in_words(frame.drop(columns=_of_group(frame, list(frame))))
    caption = "Cells of one side only"
    return table_or("All sides have every cell.", shown, caption, heads, data=frame)


def tables_of_all(every: Sequence[SidesCompared]) -> Tables:
    made = (all_sides, differences_of_all, statement_of_all, cells_of_all, only_of_all)
    return Tables(tuple(make(every) for make in made))


def json_of_all(every: Sequence[SidesCompared]) -> dict:
    """Each comparison as :func:`as_json` has it, below the name of its side."""
    return {
        "netlab_comparisons": 1,
        "family": every[0].compared.family,
        "comparisons": {
            name: as_json(one) for name, one in zip(letters(every), every, strict=True)
        },
    }


# Tables and sentences on the agreement of generators.

NOTHING = "No cell of this study has valid runs of two generators."


def opening(c: Agreement) -> Table:
    """Generators with their versions and number of usable runs."""
    runs, rows = c.measured.runs, []
    for name in tool_agreement.generators(runs):
        part = runs[runs["generator"] == name]
        own = {parse_json(text, "provenance").get("netlab") for text in part["provenance"]}
        versions = part["generator_version"].dropna().unique().tolist()
        row = {
            "generator": name,
            "version": "; ".join(versions or sorted(f"netlab {v}" for v in own)),
        }
        rows.append({**row, "runs": len(part), "flagged": len(part) - len(valid(part))})
    heads = {"flagged": "flagged, excluded"}
    return Table(pd.DataFrame(rows), "Generators", heads)


def agreement_statement(c: Agreement) -> Sentence:
    """Number of comparisons of each verdict, path by path."""
    text = [
        f"Path {path}: of {len(part)} comparisons "
        f"{verdict_counts(part['verdict'], c.bound_percent)}."
        for path, part in c.frame.groupby("path", sort=False)
    ]
    return Sentence(" ".join(text) or NOTHING)


def summary(c: Agreement) -> Table | Sentence:
    """Agreement by path and generator."""
    if c.frame.empty:
        return Sentence(NOTHING)
    heads = {"least_percent": "least, %", "greatest_percent": "greatest, %"}
    formats = dict.fromkeys(heads, "+.1f")
    note = "Least and greatest difference of a cell's mean from the reference."
    return Table(tool_agreement.summary(c.frame), "Agreement in short", heads, formats, note)


def agreement_cells(c: Agreement) -> Table | Sentence:
    """Every cell: both goodputs, the difference with its interval, and the verdict."""
    compared = c.frame
    if compared.empty:
        return Sentence(NOTHING)
    named = ["path", "mtu_B", "streams", "reference", "generator"]
    several = [
        key
        for key in (*tool_agreement.CELL, "reference", "generator")
        if key in named or compared[key].nunique(dropna=False) > 1
    ]
    heads = {"reference": "reference, A", "generator": "generator, B"}
    note = (
        f"Intervals hold for all {len(compared)} comparisons at once at "
        f"{100 * c.measured.study.confidence:g} %, by the mean ratio within a round."
    )
    shown = _in_words(compared[several]).rename(columns=heads)
    return _every_cell(shown, compared, "Every cell with each generator", note)


def meters(c: Agreement) -> Table | Sentence:
    """Readings of the hosts' meters with each generator."""
    frame = _in_words(tool_agreement.meters(c.measured.runs))
    heads = {
        "mtu_B": "MTU, B",
        "goodput_MBps": "goodput, MB/s",
        "sender_cpu_percent": "sender CPU, %",
        "receiver_cpu_percent": "receiver CPU, %",
        "cpu_s_per_GB": "programs, s/GB",
        "header_share": "headers, %",
    }
    formats = {
        **dict.fromkeys(("sender_cpu_percent", "receiver_cpu_percent"), ".1f"),
        **{"goodput_MBps": ".1f", "cpu_s_per_GB": ".3f", "header_share": ".2f"},
    }
    note = (
        f"Means of valid runs; {MISSING}: not reported. CPU: all cores, in the window. Programs: "
        "CPU time of both ends' own processes for every GB received; headers: bytes "
        "that the receiver's interface counted beyond the payload."
    )
    frame = frame.assign(header_share=100 * frame["header_share"]) if len(frame) else frame
    none = "There are no valid runs with meter readings."
    return table_or(none, frame, "Meter readings with each generator", heads, formats, note)
