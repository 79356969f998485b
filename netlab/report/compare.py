"""Tables and sentences of a comparison, and its outputs as text, CSV and JSON."""

from __future__ import annotations

import math
from dataclasses import asdict

import pandas as pd

from netlab.analysis import answers as analysis
from netlab.analysis.answers import Agreement
from netlab.analysis.cells import valid
from netlab.analysis.compare import BASE, FASTER, FIGURES, MORE, SAME, SLOWER, VERDICTS, Compared
from netlab.analysis.effects import Ratio
from netlab.analysis.printed import MISSING, number, text_of
from netlab.analysis.sides import ABSENT, SHOWN, SidesCompared
from netlab.files.json_file import parse_json
from netlab.files.tables import Table
from netlab.report.tables import Sentence, Tables

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
    frame = pd.concat([_compared_factors(c), c.differences]).drop_duplicates(ignore_index=True)
    if frame.empty:
        return Sentence(NO_DIFFERENCE)
    shown, note = folded(frame)
    if shown.empty:
        return Sentence(note)
    heads = {"item": "", "a": "A", "b": "B"}
    return Table(shown, "What differs besides goodput", heads, note=note, data=frame)


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


def _compared_factors(c: SidesCompared) -> pd.DataFrame:
    """Factors with another level on each side, unless the differences have them by a name."""
    apart = c.compared.apart
    named = {"congestion", "generator", "engine", *MORE} - {c.by}
    return apart[~apart["item"].isin(named)]


def sides(c: SidesCompared) -> Table:
    """Both sides: study, campaign, time and number of runs."""
    rows = [
        {
            "side": name,
            "results": side.label,
            "study": side.study.name,
            "campaign": side.campaign or "none",
            "measured, UTC": "{:%Y-%m-%d %H:%M} to {:%H:%M}".format(
                *side.runs["started_at"].agg(["min", "max"])
            ),
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
    alone = "" if found.only.empty else f" {len(found.only)} cells are on one side only."
    return Sentence(
        f"B against A over {len(found.frame)} cells: {effect(found.overall)} in the geometric "
        f"mean. Cell by cell: {counts}.{alone}"
    )


def verdict_counts(verdicts: pd.Series, bound_percent: float) -> str:
    """``2 slower, 0 faster, 3 the same within 5 %, 1 cannot tell``."""
    return ", ".join(
        f"{(verdicts == word).sum()} {word}"
        + (f" within {bound_percent:g} %" if word == SAME else "")
        for word in VERDICTS
    )


def method(c: SidesCompared) -> Sentence:
    """The method of the intervals."""
    found = c.compared
    paired = int(found.frame["paired"].sum())
    parts = [
        f"Intervals hold for all {len(found.frame)} cells at once at "
        f"{100 * found.level:.4g} % (Bonferroni: {100 * found.cell_level:.6g} % each). Faster and "
        f"slower: Holm's test of all ratios at {100 * (1 - found.level):.4g} %."
    ]
    spread = found.frame["low"].le(1) & found.frame["high"].ge(1)
    tested = int((spread & found.frame["verdict"].isin((FASTER, SLOWER))).sum())
    if tested:
        parts.append(f"{tested} cells: by that test, where the wider interval contains 0.")
    if paired:
        parts.append(f"{paired} cells: mean ratio within a round.")
    if paired < len(found.frame):
        alone = len(found.frame) - paired
        parts.append(f"{alone} cells: no rounds in common, Welch's interval on logarithms.")
    if (~found.frame["ranked"]).any():
        parts.append(f"{int((~found.frame['ranked']).sum())} cells are not ranked.")
    if found.shared:
        parts.append(f"{found.shared} records count on both sides and are left out.")
    parts.append("The interval of the mean over all cells stands for itself.")
    return Sentence(" ".join(parts))


def shown_keys(found: Compared) -> list[str]:
    """Columns that tell the cells apart."""
    several = [key for key in found.keys if found.frame[key].nunique(dropna=False) > 1]
    return several or list(found.keys[:1])


def _in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy with the further factors of each cell in words."""
    if "factors" not in frame:
        return frame.copy()
    return frame.assign(factors=[text_of(text) for text in frame["factors"]])


def cells(c: SidesCompared) -> Table:
    """Every cell, by verdict and size of the effect."""
    found = c.compared
    shown = _in_words(found.frame[shown_keys(found)])
    return _every_cell(shown, found.frame, "Cell by cell", method(c).text)


def _every_cell(shown: pd.DataFrame, compared: pd.DataFrame, caption: str, note: str) -> Table:
    """Figures of each cell after the columns that name it."""
    rows = compared.to_dict("records")
    shown["B against A, %"] = [percent(row["ratio"]) for row in rows]
    shown["interval"] = [interval(row["low"], row["high"]) for row in rows]
    shown["verdict"] = [
        row["verdict"] if row["ranked"] else f"{row['verdict']}: {row['reason']}" for row in rows
    ]
    shown["A, MB/s"] = [number(row["a_MBps"]) for row in rows]
    shown["B, MB/s"] = [number(row["b_MBps"]) for row in rows]
    shown["rounds"] = [f"{row['n_a']} and {row['n_b']}" for row in rows]
    return Table(shown, caption, HEADS, note=note, bold="verdict", data=compared)


def only(c: SidesCompared) -> Table | Sentence:
    """Cells that only one side has."""
    frame = c.compared.only
    if frame.empty:
        return Sentence("Both sides have every cell.")
    heads = {**HEADS, "side": "only", "reason": "on the other side"}
    return Table(_in_words(frame), "Cells of one side only", heads)


def tables(c: SidesCompared) -> Tables:
    """The whole comparison: what differs, the effect, every cell, cells of one side."""
    return Tables((sides(c), differences(c), statement(c), cells(c), only(c)))


def as_text(c: SidesCompared) -> str:
    """The comparison for a terminal."""
    return "\n\n".join(
        one.text if isinstance(one, Sentence) else _plain(one) for one in tables(c).tables
    )


def _plain(table: Table) -> str:
    frame = table.frame.rename(columns=dict(table.heads))
    note = f"\n{table.note}" if table.note else ""
    text = frame.to_string(index=False, na_rep="-", justify="left")
    return f"{table.caption}\n{text}{note}"


def as_frame(c: SidesCompared) -> pd.DataFrame:
    """Compared cells, then those of one side with ``only in A`` or ``only in B`` as verdict."""
    found = c.compared
    alone = found.only.assign(verdict="only in " + found.only["side"], ranked=False)
    columns = [*found.keys, *FIGURES]
    if alone.empty:
        return found.frame[columns]
    return pd.concat([found.frame, alone.reindex(columns=columns)], ignore_index=True)[columns]


def as_json(c: SidesCompared) -> dict:
    """The comparison as JSON values."""
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
        },
        "overall": asdict(found.overall),
        "counts": {word: found.count(word) for word in VERDICTS},
        "factors": factors,
        "cells": found.frame.to_dict("records"),
        "only": found.only.to_dict("records"),
    }


# Tables and sentences on the agreement of generators.

NOTHING = "No cell of this study has valid runs of two generators."


def opening(c: Agreement) -> Table:
    """Generators with their versions and number of usable runs."""
    usable = valid(c.measured.runs)
    rows = []
    for name in analysis.generators(c.measured.runs):
        part = c.measured.runs[c.measured.runs["generator"] == name]
        own = {
            f"netlab {parse_json(text, 'provenance').get('netlab')}" for text in part["provenance"]
        }
        versions = part["generator_version"].dropna().unique().tolist() or sorted(own)
        rows.append(
            {
                "generator": name,
                "version": "; ".join(versions),
                "runs": len(part),
                "flagged": len(part) - int((usable["generator"] == name).sum()),
            }
        )
    heads = {"flagged": "flagged, excluded"}
    return Table(pd.DataFrame(rows), "Generators", heads)


def agreement_statement(c: Agreement) -> Sentence:
    """Number of comparisons of each verdict, path by path."""
    if c.frame.empty:
        return Sentence(NOTHING)
    text = []
    for path, part in c.frame.groupby("path", sort=False):
        counts = verdict_counts(part["verdict"], c.bound_percent)
        text.append(f"Path {path}: of {len(part)} comparisons {counts}.")
    return Sentence(" ".join(text))


def summary(c: Agreement) -> Table | Sentence:
    """Agreement by path and generator."""
    if c.frame.empty:
        return Sentence(NOTHING)
    heads = {"least_percent": "least, %", "greatest_percent": "greatest, %"}
    formats = {"least_percent": "+.1f", "greatest_percent": "+.1f"}
    note = "Least and greatest difference of a cell's mean from the reference."
    return Table(analysis.summary(c.frame), "Agreement in short", heads, formats, note)


def agreement_cells(c: Agreement) -> Table | Sentence:
    """Every cell: both goodputs, the difference with its interval, and the verdict."""
    compared = c.frame
    if compared.empty:
        return Sentence(NOTHING)
    named = ["path", "direction", "tuning", "mtu_B", "streams", "reference", "generator"]
    several = [c for c in named if c not in ("direction", "tuning") or compared[c].nunique() > 1]
    heads = {"reference": "reference, A", "generator": "generator, B"}
    note = (
        f"Intervals hold for all {len(compared)} comparisons at once at "
        f"{100 * c.measured.study.confidence:g} %, by the mean ratio within a round."
    )
    shown = compared[several].rename(columns=heads)
    return _every_cell(shown, compared, "Every cell with each generator", note)


def meters(c: Agreement) -> Table | Sentence:
    """Readings of the hosts' meters with each generator."""
    frame = analysis.meters(c.measured.runs)
    if frame.empty:
        return Sentence("There are no valid runs with meter readings.")
    frame["header_share"] *= 100
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
    return Table(frame, "Meter readings with each generator", heads, formats, note)
